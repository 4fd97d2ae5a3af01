#include "engine/ops/labelled_op.h"
#include "engine/ops/scale.h"

namespace shardscope {

namespace {

// The sum over the microbatches so far of x times a constant: overwrites its result in the first, and adds to it in
// the others. Its result, of x's type, lives through all of them.
class Accumulate : public LabelledOp {
 public:
  std::string_view name() const override { return "accumulate"; }
  std::string_view work_kind() const override { return "elementwise"; }
  bool accumulates() const override { return true; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<ScaleAttributes>();
    return elementwise(operands, 1, 1, /*linear=*/true);
  }
  double flops_per_element() const override { return 2; }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
};

const Accumulate accumulate;

}  // namespace

std::vector<const OpDefinition*> accumulate_ops() { return {&accumulate}; }

}  // namespace shardscope
