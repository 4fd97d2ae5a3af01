#include <algorithm>
#include <cmath>

#include "engine/ops/initialise.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

using Kind = InitialiseAttributes::Kind;

// Elements are drawn in runs that are contiguous in the whole array, in f32, and rounded where they are stored.
template <class T>
class InitialiseKernel : public Kernel {
 public:
  explicit InitialiseKernel(const KernelArguments& arguments)
      : attributes_(arguments.attributes->as<InitialiseAttributes>()),
        part_(arguments.outputs[0]),
        out_(part_.template as<T>()) {}

  void run(const StepContext&) override {
    if (attributes_.kind == Kind::constant) {
      T value{};
      store(static_cast<float>(attributes_.scale), value);
      std::fill_n(out_, part_.count(), value);
      return;
    }
    const Shape& shape = part_.shape;
    const int64_t length = shape.empty() ? 1 : shape.back();
    const int64_t runs = length == 0 ? 0 : part_.count() / length;
    for (int64_t run = 0; run < runs; ++run) {
      T* row = out_ + run * length;
      if constexpr (std::is_same_v<T, float>) {
        fill(first_of(run), {row, static_cast<size_t>(length)});
      } else {
        row_.resize(static_cast<size_t>(length));
        fill(first_of(run), row_);
        for (int64_t i = 0; i < length; ++i) store(row_[static_cast<size_t>(i)], row[i]);
      }
    }
  }

 private:
  // Row-major index in the whole array of the first element of a row of this part.
  uint64_t first_of(int64_t row) const {
    int64_t index = part_.shape.empty() ? 0 : part_.offset.back();
    int64_t stride = part_.shape.empty() ? 1 : part_.global_shape.back();
    for (size_t d = part_.shape.size(); d-- > 1;) {
      index += (part_.offset[d - 1] + row % part_.shape[d - 1]) * stride;
      row /= part_.shape[d - 1];
      stride *= part_.global_shape[d - 1];
    }
    return static_cast<uint64_t>(index);
  }

  void fill(uint64_t first, std::span<float> out) const {
    const float scale = static_cast<float>(attributes_.scale);
    if (attributes_.kind == Kind::sinusoidal) return fill_sinusoidal(first, out);
    if (attributes_.kind == Kind::truncated_normal) {
      fill_truncated_normal(attributes_.key, first, -2, 2, out);
    } else if (attributes_.kind == Kind::uniform) {
      fill_uniform(attributes_.key, first, -1, 1, out);
    } else {
      fill_normal(attributes_.key, first, out);
    }
    for (float& value : out) value *= scale;
  }

  void fill_sinusoidal(uint64_t first, std::span<float> out) const {
    const auto features = static_cast<uint64_t>(attributes_.type.shape.back());
    const float rate = -(std::log(static_cast<float>(attributes_.scale)) / static_cast<float>(features));
    for (size_t i = 0; i < out.size(); ++i) {
      const uint64_t row = (first + i) / features, column = (first + i) % features;
      const float frequency = std::exp(rate * static_cast<float>(column - column % 2));
      const double angle = static_cast<float>(row) * frequency;
      out[i] = static_cast<float>(column % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }

  InitialiseAttributes attributes_;
  TensorView part_;
  T* out_;
  std::vector<float> row_;
};

}  // namespace

std::vector<NamedKernel> initialise_kernels() {
  return {{"initialise", "->f32", construct<InitialiseKernel<float>>},
          {"initialise", "->bf16", construct<InitialiseKernel<BFloat16>>}};
}

}  // namespace shardscope
