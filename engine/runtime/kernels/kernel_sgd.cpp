#include "engine/base/vector_versions.h"
#include "engine/ops/sgd.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/update_kernel.h"

namespace shardscope {

namespace {

struct Rates {
  float learning_rate, decay, fresh;
};

constexpr auto update = vector_versions([](UpdatedArrays a, Rates rates, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float next = rates.decay * a.state[i] + rates.fresh * a.gradient[i];
    a.state[i] = next;
    a.parameter[i] -= rates.learning_rate * next;
  }
});

class SgdKernel : public UpdateKernel<SgdAttributes> {
 public:
  using UpdateKernel::UpdateKernel;

  void run(const StepContext& context) override {
    apply(update, Rates{learning_rate(context), static_cast<float>(attributes_.decay),
                        static_cast<float>(1.0 - attributes_.decay)});
  }
};

}  // namespace

std::vector<NamedKernel> sgd_kernels() { return {{"sgd", "f32,f32,f32->f32,f32", construct<SgdKernel>}}; }

}  // namespace shardscope
