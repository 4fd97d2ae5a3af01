#include <algorithm>
#include <array>

#include "engine/base/vector_versions.h"
#include "engine/ops/dropout.h"
#include "engine/runtime/kernels/dropout_mask.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

constexpr auto keep =
    vector_versions([]<class T>(const T* x, const uint8_t* kept, float probability, int64_t count, T* y) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        const float scaled = load(x[i]) / probability;
        store(kept[i] ? scaled : 0.0f, y[i]);
      }
    });

template <class T>
class DropoutKernel : public Kernel {
 public:
  explicit DropoutKernel(const KernelArguments& arguments)
      : mask_(arguments.attributes->as<DropoutAttributes>(), element_count(arguments.inputs[0].global_shape)),
        view_(arguments.inputs[0]),
        x_(view_.template as<T>()),
        y_(arguments.outputs[0].template as<T>()),
        count_(view_.count()),
        threads_(arguments.threads) {
    for (size_t d = view_.shape.size(); d-- > 0;) {
      run_ *= view_.shape[d];
      if (view_.shape[d] != view_.global_shape[d]) break;
    }
  }

  void run(const StepContext& context) override {
    mask_.start_step(context);
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) {
      if (!mask_.active()) {
        if (y_ != x_) std::copy(x_ + begin, x_ + end, y_ + begin);
        return;
      }
      while (begin < end) {
        const int64_t count = std::min({end - begin, run_ - begin % run_, static_cast<int64_t>(chunk)});
        std::array<uint8_t, chunk> kept;
        mask_.fill(global_index(begin), std::span(kept).first(static_cast<size_t>(count)));
        keep(x_ + begin, kept.data(), mask_.keep_probability(), count, y_ + begin);
        begin += count;
      }
    });
  }

 private:
  static constexpr size_t chunk = 1024;

  uint64_t global_index(int64_t local) const {
    uint64_t index = 0, stride = 1;
    for (size_t d = view_.shape.size(); d-- > 0;) {
      index += static_cast<uint64_t>(view_.offset[d] + local % view_.shape[d]) * stride;
      stride *= static_cast<uint64_t>(view_.global_shape[d]);
      local /= view_.shape[d];
    }
    return index;
  }

  DropoutMask mask_;
  TensorView view_;
  const T* x_;
  T* y_;
  int64_t count_;
  int64_t run_ = 1;  // elements that lie one after the other in the whole array too
  int threads_;
};

}  // namespace

std::vector<NamedKernel> dropout_kernels() {
  return {{"dropout", "f32->f32", construct<DropoutKernel<float>>},
          {"dropout", "bf16->bf16", construct<DropoutKernel<BFloat16>>}};
}

std::vector<KernelCase> dropout_kernel_cases(const CaseSizes& sizes) {
  return {{"dropout", DropoutAttributes{0.25, {{1, 2}, 1, 0, {}}}, {sizes.x()}}};
}

}  // namespace shardscope
