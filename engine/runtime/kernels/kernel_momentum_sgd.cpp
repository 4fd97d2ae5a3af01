#include "engine/base/vector_versions.h"
#include "engine/ops/momentum_sgd.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

struct Rates {
  float learning_rate, momentum;
};

struct State {
  float* parameter;
  const float* gradient;
  float* trace;
};

constexpr auto update = vector_versions([](State s, Rates rates, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    s.trace[i] = s.gradient[i] + rates.momentum * s.trace[i];
    s.parameter[i] -= rates.learning_rate * s.trace[i];
  }
});

constexpr auto nesterov_update = vector_versions([](State s, Rates rates, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    s.trace[i] = s.gradient[i] + rates.momentum * s.trace[i];
    s.parameter[i] -= rates.learning_rate * (s.gradient[i] + rates.momentum * s.trace[i]);
  }
});

class MomentumSgdKernel : public Kernel {
 public:
  explicit MomentumSgdKernel(const KernelArguments& arguments)
      : state_{arguments.outputs[0].f32(), arguments.inputs[1].f32(), arguments.outputs[1].f32()},
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads),
        attributes_(arguments.attributes->as<MomentumSgdAttributes>()) {}

  void run(const StepContext& context) override {
    const Rates rates{static_cast<float>(attributes_.learning_rate.at(context.step)),
                      static_cast<float>(attributes_.momentum)};
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) {
      if (attributes_.nesterov) nesterov_update(state_, rates, begin, end);
      else update(state_, rates, begin, end);
    });
  }

 private:
  State state_;
  int64_t count_;
  int threads_;
  MomentumSgdAttributes attributes_;
};

}  // namespace

std::vector<NamedKernel> momentum_sgd_kernels() {
  return {{"momentum_sgd", "f32,f32,f32->f32,f32", construct<MomentumSgdKernel>}};
}

}  // namespace shardscope
