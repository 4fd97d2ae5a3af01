#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// (parameter, gradient [, master]) -> (parameter [, master]), in place: the parameter and its master copy stay as they
// are. It takes the gradient as an update does, so that it is complete and laid out as the parameter.
class NoUpdate : public LabelledOp {
 public:
  std::string_view name() const override { return "no_update"; }
  std::string_view work_kind() const override { return "optimizers"; }
  bool must_be_in_place() const override { return true; }
  int in_place_operand(int result) const override { return result == 0 ? 0 : 2; }
  bool touches_memory() const override { return false; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    return operands.size() > 2 ? elementwise(operands, 3, 2) : elementwise(operands, 2, 1);
  }
  double flops_per_element() const override { return 0; }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int result, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[static_cast<size_t>(in_place_operand(result))].dtype;
  }
};

const NoUpdate no_update;

}  // namespace

std::vector<const OpDefinition*> no_update_ops() { return {&no_update}; }

}  // namespace shardscope
