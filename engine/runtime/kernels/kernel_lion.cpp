#include "engine/base/vector_versions.h"
#include "engine/ops/lion.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

struct Mean {
  float decay, fresh;  // decay * mean + fresh * gradient
};

struct Rates {
  float learning_rate, weight_decay;
};

struct State {
  float* parameter;
  const float* gradient;
  float* mu;
};

constexpr auto update =
    vector_versions([](State s, Mean direction, Mean moment, Rates rates, int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = s.gradient[i], mean = direction.fresh * g + direction.decay * s.mu[i];
        const float sign = static_cast<float>(mean > 0) - static_cast<float>(mean < 0);
        s.mu[i] = moment.fresh * g + moment.decay * s.mu[i];
        s.parameter[i] -= rates.learning_rate * (sign + rates.weight_decay * s.parameter[i]);
      }
    });

class LionKernel : public Kernel {
 public:
  explicit LionKernel(const KernelArguments& arguments)
      : state_{arguments.outputs[0].f32(), arguments.inputs[1].f32(), arguments.outputs[1].f32()},
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads),
        attributes_(arguments.attributes->as<LionAttributes>()) {}

  void run(const StepContext& context) override {
    const LionAttributes& a = attributes_;
    const Rates rates{static_cast<float>(a.learning_rate.at(context.step)), static_cast<float>(a.weight_decay)};
    parallel_for(threads_, count_, 1024,
                 [&](int64_t begin, int64_t end, int) { update(state_, mean(a.b1), mean(a.b2), rates, begin, end); });
  }

 private:
  // Optax takes 1 - decay in double.
  static Mean mean(double decay) { return {static_cast<float>(decay), static_cast<float>(1.0 - decay)}; }

  State state_;
  int64_t count_;
  int threads_;
  LionAttributes attributes_;
};

}  // namespace

std::vector<NamedKernel> lion_kernels() { return {{"lion", "f32,f32,f32->f32,f32", construct<LionKernel>}}; }

}  // namespace shardscope
