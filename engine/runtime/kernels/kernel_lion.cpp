#include "engine/base/vector_versions.h"
#include "engine/ops/lion.h"
#include "engine/runtime/kernels/kernel_case.h"
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
    vector_versions([](auto a, Mean direction, Mean moment, Rates rates, int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = load(a.gradient[i]), value = load(a.value[i]), state = load(a.states[0][i]);
        const float mean = direction.fresh * g + direction.decay * state;
        const float sign = static_cast<float>(mean > 0) - static_cast<float>(mean < 0);
        store(moment.fresh * g + moment.decay * state, a.states[0][i]);
        a.set(i, value - rates.learning_rate * (sign + rates.weight_decay * value));
      }
    });

template <class P, class G, class M, bool has_master>
class LionKernel : public UpdateKernel<LionAttributes, 1, P, G, M, has_master> {
 public:
  using Base = UpdateKernel<LionAttributes, 1, P, G, M, has_master>;
  using Base::Base;

  void run(const StepContext& context) override {
    const LionAttributes& a = this->attributes_;
    this->apply(update, mean(a.b1), mean(a.b2),
                Rates{this->learning_rate(context), static_cast<float>(a.weight_decay)});
  }

 private:
  // Optax takes 1 - decay in double.
  static Mean mean(double decay) { return {static_cast<float>(decay), static_cast<float>(1.0 - decay)}; }
};

}  // namespace

std::vector<NamedKernel> lion_kernels() { return update_kernels_of_one_state<LionKernel>("lion"); }

std::vector<KernelCase> lion_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x();
  return {{"lion", LionAttributes{}, {x, x, x}}};
}

}  // namespace shardscope
