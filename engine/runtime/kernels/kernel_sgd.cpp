#include "engine/base/vector_versions.h"
#include "engine/ops/sgd.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/update_kernel.h"

namespace shardscope {

namespace {

struct Rates {
  float learning_rate, decay, fresh;
};

constexpr auto update = vector_versions([](auto a, Rates rates, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float next = rates.decay * load(a.states[0][i]) + rates.fresh * load(a.gradient[i]);
    store(next, a.states[0][i]);
    a.set(i, load(a.value[i]) - rates.learning_rate * next);
  }
});

template <class P, class G, class M, bool has_master>
class SgdKernel : public UpdateKernel<SgdAttributes, 1, P, G, M, has_master> {
 public:
  using Base = UpdateKernel<SgdAttributes, 1, P, G, M, has_master>;
  using Base::Base;

  void run(const StepContext& context) override {
    const double decay = this->attributes_.decay;
    this->apply(update,
                Rates{this->learning_rate(context), static_cast<float>(decay), static_cast<float>(1.0 - decay)});
  }
};

}  // namespace

std::vector<NamedKernel> sgd_kernels() { return update_kernels_of_one_state<SgdKernel>("sgd"); }

std::vector<KernelCase> sgd_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x();
  return {{"sgd", SgdAttributes{}, {x, x, x}}};
}

}  // namespace shardscope
