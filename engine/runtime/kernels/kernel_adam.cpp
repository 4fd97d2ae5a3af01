#include <cmath>

#include "engine/base/vector_versions.h"
#include "engine/ops/adam.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

struct Moment {
  float decay, fresh, correction;  // new = decay * old + fresh * sample; unbiased = new / correction
};

struct Rate {
  float rate, eps, decay;
};

struct State {
  float* parameter;
  const float* gradient;
  float* mu;
  float* nu;
};

constexpr auto update = vector_versions([](State s, Moment first, Moment second, Rate r, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float g = s.gradient[i];
    const float mu = first.fresh * g + first.decay * s.mu[i];
    const float nu = second.fresh * (g * g) + second.decay * s.nu[i];
    s.mu[i] = mu;
    s.nu[i] = nu;
    const float step = (mu / first.correction) / (std::sqrt(nu / second.correction) + r.eps);
    s.parameter[i] -= r.rate * (step + r.decay * s.parameter[i]);
  }
});

class AdamKernel : public Kernel {
 public:
  explicit AdamKernel(const KernelArguments& arguments)
      : state_{arguments.outputs[0].f32(), arguments.inputs[1].f32(), arguments.outputs[1].f32(),
               arguments.outputs[2].f32()},
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads),
        attributes_(arguments.attributes->as<AdamAttributes>()) {}

  void run(const StepContext& context) override {
    const AdamAttributes& a = attributes_;
    const Moment first = moment(a.b1, context.step + 1), second = moment(a.b2, context.step + 1);
    const Rate rate{static_cast<float>(a.learning_rate.at(context.step)), static_cast<float>(a.eps),
                    static_cast<float>(a.weight_decay)};
    parallel_for(threads_, count_, 1024,
                 [&](int64_t begin, int64_t end, int) { update(state_, first, second, rate, begin, end); });
  }

 private:
  // Optax takes 1 - decay in double and the power in float; 1 - b2 ^ t has few digits at first, so that shows.
  static Moment moment(double decay, int64_t t) {
    const float single = static_cast<float>(decay);
    return {single, static_cast<float>(1.0 - decay), 1.0f - std::pow(single, static_cast<float>(t))};
  }

  State state_;
  int64_t count_;
  int threads_;
  AdamAttributes attributes_;
};

}  // namespace

std::vector<NamedKernel> adam_kernels() { return {{"adam", "f32,f32,f32,f32->f32,f32,f32", construct<AdamKernel>}}; }

}  // namespace shardscope
