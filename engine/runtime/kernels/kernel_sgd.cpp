#include "engine/base/vector_versions.h"
#include "engine/ops/sgd.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

struct Rates {
  float learning_rate, decay, fresh;
};

constexpr auto sgd_update = vector_versions(
    [](float* parameter, const float* gradient, float* momentum, Rates rates, int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float next = rates.decay * momentum[i] + rates.fresh * gradient[i];
        momentum[i] = next;
        parameter[i] -= rates.learning_rate * next;
      }
    });

class SgdKernel : public Kernel {
 public:
  explicit SgdKernel(const KernelArguments& arguments)
      : parameter_(arguments.outputs[0].f32()),
        gradient_(arguments.inputs[1].f32()),
        momentum_(arguments.outputs[1].f32()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads),
        attributes_(arguments.attributes->as<SgdAttributes>()) {}

  void run(const StepContext& context) override {
    const Rates rates{static_cast<float>(attributes_.learning_rate.at(context.step)),
                      static_cast<float>(attributes_.decay), static_cast<float>(1.0 - attributes_.decay)};
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) {
      sgd_update(parameter_, gradient_, momentum_, rates, begin, end);
    });
  }

 private:
  float* parameter_;
  const float* gradient_;
  float* momentum_;
  int64_t count_;
  int threads_;
  SgdAttributes attributes_;
};

}  // namespace

std::vector<NamedKernel> sgd_kernels() { return {{"sgd", "f32,f32,f32->f32,f32", construct<SgdKernel>}}; }

}  // namespace shardscope
