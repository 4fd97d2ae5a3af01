#include "engine/base/vector_versions.h"
#include "engine/ops/momentum_sgd.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/update_kernel.h"

namespace shardscope {

namespace {

constexpr auto update = vector_versions([](auto a, float learning_rate, float momentum, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float trace = load(a.gradient[i]) + momentum * load(a.states[0][i]);
    store(trace, a.states[0][i]);
    a.set(i, load(a.value[i]) - learning_rate * trace);
  }
});

constexpr auto nesterov_update =
    vector_versions([](auto a, float learning_rate, float momentum, int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = load(a.gradient[i]), trace = g + momentum * load(a.states[0][i]);
        store(trace, a.states[0][i]);
        a.set(i, load(a.value[i]) - learning_rate * (g + momentum * trace));
      }
    });

template <class P, class G, class M, bool has_master>
class MomentumSgdKernel : public UpdateKernel<MomentumSgdAttributes, 1, P, G, M, has_master> {
 public:
  using Base = UpdateKernel<MomentumSgdAttributes, 1, P, G, M, has_master>;
  using Base::Base;

  void run(const StepContext& context) override {
    const float rate = this->learning_rate(context), momentum = static_cast<float>(this->attributes_.momentum);
    if (this->attributes_.nesterov) this->apply(nesterov_update, rate, momentum);
    else this->apply(update, rate, momentum);
  }
};

}  // namespace

std::vector<NamedKernel> momentum_sgd_kernels() {
  return update_kernels_of_one_state<MomentumSgdKernel>("momentum_sgd");
}

std::vector<KernelCase> momentum_sgd_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x();
  return {{"momentum_sgd", MomentumSgdAttributes{}, {x, x, x}}};
}

}  // namespace shardscope
