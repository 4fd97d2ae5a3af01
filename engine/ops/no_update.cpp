#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// (parameter, gradient) -> (parameter), in place: the parameter stays as it is. It takes the gradient as an update
// does, so that it is complete and laid out as the parameter.
class NoUpdate : public LabelledOp {
 public:
  std::string_view name() const override { return "no_update"; }
  bool must_be_in_place() const override { return true; }
  int in_place_operand(int) const override { return 0; }
  bool touches_memory() const override { return false; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    return elementwise(operands, 2, 1);
  }
  double flops_per_element() const override { return 0; }
};

const NoUpdate no_update;

}  // namespace

std::vector<const OpDefinition*> no_update_ops() { return {&no_update}; }

}  // namespace shardscope
