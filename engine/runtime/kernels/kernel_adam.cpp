#include <cmath>

#include "engine/base/vector_versions.h"
#include "engine/ops/adam.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/update_kernel.h"

namespace shardscope {

namespace {

struct Moment {
  float decay, fresh, correction;  // new = decay * old + fresh * sample; unbiased = new / correction
};

struct Rate {
  float rate, eps, decay;
};

constexpr auto update = vector_versions([](auto s, Moment first, Moment second, Rate r, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float g = load(s.gradient[i]), value = load(s.value[i]);
    const float mu = first.fresh * g + first.decay * load(s.states[0][i]);
    const float nu = second.fresh * (g * g) + second.decay * load(s.states[1][i]);
    store(mu, s.states[0][i]);
    store(nu, s.states[1][i]);
    const float step = (mu / first.correction) / (std::sqrt(nu / second.correction) + r.eps);
    s.set(i, value - r.rate * (step + r.decay * value));
  }
});

template <class P, class G, class M, bool has_master>
class AdamKernel : public UpdateKernel<AdamAttributes, 2, P, G, M, has_master> {
 public:
  using Base = UpdateKernel<AdamAttributes, 2, P, G, M, has_master>;
  using Base::Base;

  void run(const StepContext& context) override {
    const AdamAttributes& a = this->attributes_;
    this->apply(update, moment(a.b1, context.step + 1), moment(a.b2, context.step + 1),
                Rate{this->learning_rate(context), static_cast<float>(a.eps), static_cast<float>(a.weight_decay)});
  }

 private:
  // Optax takes 1 - decay in double and the power in float; 1 - b2 ^ t has few digits at first, so that shows.
  static Moment moment(double decay, int64_t t) {
    const float single = static_cast<float>(decay);
    return {single, static_cast<float>(1.0 - decay), 1.0f - std::pow(single, static_cast<float>(t))};
  }
};

}  // namespace

std::vector<NamedKernel> adam_kernels() { return update_kernels_of_two_states<AdamKernel>("adam"); }

std::vector<KernelCase> adam_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x();
  return {{"adam", AdamAttributes{}, {x, x, x, x}}};
}

}  // namespace shardscope
