#pragma once

#include "engine/runtime/kernels/kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

// Of one parameter, updated in place.
struct UpdatedArrays {
  float* parameter;
  const float* gradient;
  float* state;
};

// Base of the kernels of optimizers with one state: (parameter, gradient, state) -> (parameter, state).
template <class Attributes>
class UpdateKernel : public Kernel {
 public:
  explicit UpdateKernel(const KernelArguments& arguments)
      : attributes_(arguments.attributes->as<Attributes>()),
        arrays_{arguments.outputs[0].f32(), arguments.inputs[1].f32(), arguments.outputs[1].f32()},
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

 protected:
  float learning_rate(const StepContext& context) const {
    return static_cast<float>(attributes_.learning_rate.at(context.step));
  }

  // update(arrays, rates..., begin, end) on ranges of all elements.
  template <class Update, class... Rates>
  void apply(const Update& update, Rates... rates) const {
    parallel_for(threads_, count_, 1024,
                 [&](int64_t begin, int64_t end, int) { update(arrays_, rates..., begin, end); });
  }

  const Attributes attributes_;

 private:
  const UpdatedArrays arrays_;
  const int64_t count_;
  const int threads_;
};

}  // namespace shardscope
