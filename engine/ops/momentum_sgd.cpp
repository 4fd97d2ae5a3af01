#include "engine/ops/momentum_sgd.h"

#include <fmt/format.h>

#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const MomentumSgdAttributes& a) {
  return fmt::format("learning_rate={}, momentum={}, nesterov={}", to_string(a.learning_rate), a.momentum, a.nesterov);
}

namespace {

// optax.sgd's update: (parameter, gradient, trace) -> (parameter, trace), in place:
// trace' = gradient + momentum trace; parameter' = parameter - learning_rate trace', or with nesterov (Y. Nesterov,
// 1983; as in I. Sutskever et al., 2013) parameter - learning_rate (gradient + momentum trace').
// The learning rate is that of the training step.
class MomentumSgd : public LabelledOp {
 public:
  std::string_view name() const override { return "momentum_sgd"; }
  bool must_be_in_place() const override { return true; }
  int in_place_operand(int result) const override { return result == 0 ? 0 : 2; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<MomentumSgdAttributes>();
    return elementwise(operands, 3, 2);
  }
  double flops_per_element() const override { return 6; }
};

const MomentumSgd momentum_sgd;

}  // namespace

std::vector<const OpDefinition*> momentum_sgd_ops() { return {&momentum_sgd}; }

}  // namespace shardscope
