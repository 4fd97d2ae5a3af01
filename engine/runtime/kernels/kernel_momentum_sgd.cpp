#include "engine/base/vector_versions.h"
#include "engine/ops/momentum_sgd.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/update_kernel.h"

namespace shardscope {

namespace {

constexpr auto update =
    vector_versions([](UpdatedArrays a, float learning_rate, float momentum, int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        a.state[i] = a.gradient[i] + momentum * a.state[i];
        a.parameter[i] -= learning_rate * a.state[i];
      }
    });

constexpr auto nesterov_update =
    vector_versions([](UpdatedArrays a, float learning_rate, float momentum, int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        a.state[i] = a.gradient[i] + momentum * a.state[i];
        a.parameter[i] -= learning_rate * (a.gradient[i] + momentum * a.state[i]);
      }
    });

class MomentumSgdKernel : public UpdateKernel<MomentumSgdAttributes> {
 public:
  using UpdateKernel::UpdateKernel;

  void run(const StepContext& context) override {
    const float rate = learning_rate(context), momentum = static_cast<float>(attributes_.momentum);
    if (attributes_.nesterov) apply(nesterov_update, rate, momentum);
    else apply(update, rate, momentum);
  }
};

}  // namespace

std::vector<NamedKernel> momentum_sgd_kernels() {
  return {{"momentum_sgd", "f32,f32,f32->f32,f32", construct<MomentumSgdKernel>}};
}

}  // namespace shardscope
