#include <algorithm>
#include <array>

#include "engine/base/vector_clones.h"
#include "engine/runtime/kernels/dropout_mask.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

SHARDSCOPE_KERNEL_CLONES void keep(const float* x, const uint8_t* kept, float probability, int64_t count, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float scaled = x[i] / probability;
    y[i] = kept[i] ? scaled : 0.0f;
  }
}

class DropoutKernel : public Kernel {
 public:
  explicit DropoutKernel(const KernelArguments& arguments)
      : mask_(arguments.attributes->as<DropoutAttributes>()),
        x_(arguments.inputs[0]),
        y_(arguments.outputs[0].f32()),
        count_(x_.count()),
        threads_(arguments.threads) {
    for (size_t d = x_.shape.size(); d-- > 0;) {
      run_ *= x_.shape[d];
      if (x_.shape[d] != x_.global_shape[d]) break;
    }
  }

  void run(const StepContext& context) override {
    mask_.start_step(context.step);
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) {
      if (!mask_.active()) {
        if (y_ != x_.f32()) std::copy(x_.f32() + begin, x_.f32() + end, y_ + begin);
        return;
      }
      while (begin < end) {
        const int64_t count = std::min({end - begin, run_ - begin % run_, static_cast<int64_t>(chunk)});
        std::array<uint8_t, chunk> kept;
        mask_.fill(global_index(begin), std::span(kept).first(static_cast<size_t>(count)));
        keep(x_.f32() + begin, kept.data(), mask_.keep_probability(), count, y_ + begin);
        begin += count;
      }
    });
  }

 private:
  static constexpr size_t chunk = 1024;

  uint64_t global_index(int64_t local) const {
    uint64_t index = 0, stride = 1;
    for (size_t d = x_.shape.size(); d-- > 0;) {
      index += static_cast<uint64_t>(x_.offset[d] + local % x_.shape[d]) * stride;
      stride *= static_cast<uint64_t>(x_.global_shape[d]);
      local /= x_.shape[d];
    }
    return index;
  }

  DropoutMask mask_;
  TensorView x_;
  float* y_;
  int64_t count_;
  int64_t run_ = 1;  // elements that lie one after the other in the whole array too
  int threads_;
};

}  // namespace

std::vector<NamedKernel> dropout_kernels() { return {{"dropout", make_kernel<DropoutKernel>}}; }

}  // namespace shardscope
