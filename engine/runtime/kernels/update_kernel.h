#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

// Of one parameter, updated in place: gradients of type G, states of M. `value` is the parameter of type P; where it
// has a master copy, `value` is that, and `rounded` the parameter.
template <class P, class G, class M, bool has_master>
struct UpdatedArrays {
  P* value = nullptr;
  const G* gradient = nullptr;
  std::array<M*, 2> states{};  // as many as the optimizer has
  BFloat16* rounded = nullptr;

  [[gnu::always_inline]] void set(int64_t i, float updated) const {
    store(updated, value[i]);
    if constexpr (has_master) store(updated, rounded[i]);
  }
};

// Base of the kernels of optimizers: (parameter, gradient, states... [, master]) -> (parameter, states... [, master]).
template <class Attributes, size_t states, class P, class G, class M, bool has_master>
class UpdateKernel : public Kernel {
 public:
  explicit UpdateKernel(const KernelArguments& arguments)
      : attributes_(arguments.attributes->as<Attributes>()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {
    arrays_.value = arguments.outputs[has_master ? 1 + states : 0].template as<P>();
    arrays_.gradient = arguments.inputs[1].template as<G>();
    for (size_t i = 0; i < states; ++i) arrays_.states[i] = arguments.outputs[1 + i].template as<M>();
    if constexpr (has_master) arrays_.rounded = arguments.outputs[0].bf16();
  }

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
  UpdatedArrays<P, G, M, has_master> arrays_;
  const int64_t count_;
  const int threads_;
};

// The kernels of an optimizer for f32 and bf16 parameters, gradients and states, and for bf16 parameters with an f32
// master copy. K<P, G, M, has_master> is an UpdateKernel.
template <template <class, class, class, bool> class K>
std::vector<NamedKernel> update_kernels_of_one_state(std::string_view op) {
  using B = BFloat16;
  return {{op, "f32,f32,f32->f32,f32", construct<K<float, float, float, false>>},
          {op, "f32,bf16,f32->f32,f32", construct<K<float, B, float, false>>},
          {op, "f32,f32,bf16->f32,bf16", construct<K<float, float, B, false>>},
          {op, "f32,bf16,bf16->f32,bf16", construct<K<float, B, B, false>>},
          {op, "bf16,f32,f32->bf16,f32", construct<K<B, float, float, false>>},
          {op, "bf16,bf16,f32->bf16,f32", construct<K<B, B, float, false>>},
          {op, "bf16,f32,bf16->bf16,bf16", construct<K<B, float, B, false>>},
          {op, "bf16,bf16,bf16->bf16,bf16", construct<K<B, B, B, false>>},
          {op, "bf16,f32,f32,f32->bf16,f32,f32", construct<K<float, float, float, true>>},
          {op, "bf16,bf16,f32,f32->bf16,f32,f32", construct<K<float, B, float, true>>},
          {op, "bf16,f32,bf16,f32->bf16,bf16,f32", construct<K<float, float, B, true>>},
          {op, "bf16,bf16,bf16,f32->bf16,bf16,f32", construct<K<float, B, B, true>>}};
}

template <template <class, class, class, bool> class K>
std::vector<NamedKernel> update_kernels_of_two_states(std::string_view op) {
  using B = BFloat16;
  return {{op, "f32,f32,f32,f32->f32,f32,f32", construct<K<float, float, float, false>>},
          {op, "f32,bf16,f32,f32->f32,f32,f32", construct<K<float, B, float, false>>},
          {op, "f32,f32,bf16,bf16->f32,bf16,bf16", construct<K<float, float, B, false>>},
          {op, "f32,bf16,bf16,bf16->f32,bf16,bf16", construct<K<float, B, B, false>>},
          {op, "bf16,f32,f32,f32->bf16,f32,f32", construct<K<B, float, float, false>>},
          {op, "bf16,bf16,f32,f32->bf16,f32,f32", construct<K<B, B, float, false>>},
          {op, "bf16,f32,bf16,bf16->bf16,bf16,bf16", construct<K<B, float, B, false>>},
          {op, "bf16,bf16,bf16,bf16->bf16,bf16,bf16", construct<K<B, B, B, false>>},
          {op, "bf16,f32,f32,f32,f32->bf16,f32,f32,f32", construct<K<float, float, float, true>>},
          {op, "bf16,bf16,f32,f32,f32->bf16,f32,f32,f32", construct<K<float, B, float, true>>},
          {op, "bf16,f32,bf16,bf16,f32->bf16,bf16,bf16,f32", construct<K<float, float, B, true>>},
          {op, "bf16,bf16,bf16,bf16,f32->bf16,bf16,bf16,f32", construct<K<float, B, B, true>>}};
}

}  // namespace shardscope
