#include "engine/base/vector_versions.h"
#include "engine/ops/lion.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/update_kernel.h"

namespace shardscope {

namespace {

struct Mean {
  float decay, fresh;  // decay * mean + fresh * gradient
};

struct Rates {
  float learning_rate, weight_decay;
};

constexpr auto update =
    vector_versions([](UpdatedArrays a, Mean direction, Mean moment, Rates rates, int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = a.gradient[i], mean = direction.fresh * g + direction.decay * a.state[i];
        const float sign = static_cast<float>(mean > 0) - static_cast<float>(mean < 0);
        a.state[i] = moment.fresh * g + moment.decay * a.state[i];
        a.parameter[i] -= rates.learning_rate * (sign + rates.weight_decay * a.parameter[i]);
      }
    });

class LionKernel : public UpdateKernel<LionAttributes> {
 public:
  using UpdateKernel::UpdateKernel;

  void run(const StepContext& context) override {
    apply(update, mean(attributes_.b1), mean(attributes_.b2),
          Rates{learning_rate(context), static_cast<float>(attributes_.weight_decay)});
  }

 private:
  // Optax takes 1 - decay in double.
  static Mean mean(double decay) { return {static_cast<float>(decay), static_cast<float>(1.0 - decay)}; }
};

}  // namespace

std::vector<NamedKernel> lion_kernels() { return {{"lion", "f32,f32,f32->f32,f32", construct<LionKernel>}}; }

}  // namespace shardscope
