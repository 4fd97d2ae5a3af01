#include "engine/ops/sgd.h"

#include <fmt/format.h>

#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const SgdAttributes& a) {
  return fmt::format("learning_rate={}, decay={}", to_string(a.learning_rate), a.decay);
}

namespace {

// (parameter, gradient, momentum) -> (parameter, momentum), in place:
// momentum' = decay momentum + (1 - decay) gradient; parameter' = parameter - learning_rate momentum'.
// The learning rate is that of the training step.
class Sgd : public LabelledOp {
 public:
  std::string_view name() const override { return "sgd"; }
  bool must_be_in_place() const override { return true; }
  int in_place_operand(int result) const override { return result == 0 ? 0 : 2; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<SgdAttributes>();
    return elementwise(operands, 3, 2);
  }
  double flops_per_element() const override { return 5; }
};

const Sgd sgd;

}  // namespace

std::vector<const OpDefinition*> sgd_ops() { return {&sgd}; }

}  // namespace shardscope
