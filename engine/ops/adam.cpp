#include "engine/ops/adam.h"

#include <fmt/format.h>

#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const AdamAttributes& a) {
  return fmt::format("learning_rate={}, b1={}, b2={}, eps={}, weight_decay={}", to_string(a.learning_rate), a.b1, a.b2,
                     a.eps, a.weight_decay);
}

namespace {

// optax.adam's update (D. Kingma and J. Ba, 2015): (parameter, gradient, mu, nu) -> (parameter, mu, nu), in place;
// with weight decay optax.adamw's (I. Loshchilov and F. Hutter, 2019), where rate x decay x parameter is taken off too.
// The count for the bias correction and for the learning rate's schedule is the training step.
class Adam : public LabelledOp {
 public:
  std::string_view name() const override { return "adam"; }
  bool must_be_in_place() const override { return true; }
  int in_place_operand(int result) const override { return result == 0 ? 0 : result + 1; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<AdamAttributes>();
    return elementwise(operands, 4, 3);
  }
  double flops_per_element() const override { return 14; }
};

const Adam adam;

}  // namespace

std::vector<const OpDefinition*> adam_ops() { return {&adam}; }

}  // namespace shardscope
