#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// optax.adam's update (D. Kingma and J. Ba, 2015): (parameter, gradient, mu, nu) -> (parameter, mu, nu), in place.
// Attributes learning_rate, b1, b2, eps; the step count for the bias correction comes from the training step.
class Adam : public LabelledOp {
 public:
  std::string_view name() const override { return "adam"; }
  bool must_be_in_place() const override { return true; }
  int in_place_operand(int result) const override { return result == 0 ? 0 : result + 1; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    std::string all = elementwise_labels(operands[0].shape.size());
    return {{all, all, all, all}, {all, all, all}, "", false};
  }
  double flops_per_element() const override { return 12; }
};

const Adam adam;

}  // namespace

std::vector<const OpDefinition*> adam_ops() { return {&adam}; }

}  // namespace shardscope
