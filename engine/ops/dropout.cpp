#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// flax.linen.Dropout: keeps element i (row-major index in the whole array) where bernoulli(key, 1 - rate)[i] and scales
// it by 1 / (1 - rate). Attributes: dropout_rate, seed, dropout_fold (linen_fold of the module's path); the key is
// fold_in(fold_in(PRNGKey(seed), step), dropout_fold). Linear in x, and its own gradient.
class Dropout : public LabelledOp {
 public:
  std::string_view name() const override { return "dropout"; }
  int in_place_operand(int) const override { return 0; }

  void gradient(GradientContext& context) const override {
    const Op& op = context.graph.ops[context.op];
    Attributes attributes = op.attributes;
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, attributes);
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    std::string all = elementwise_labels(operands[0].shape.size());
    return {{all}, {all}, "", true};
  }
  double flops_per_element() const override { return 1; }
};

const Dropout dropout;

}  // namespace

std::vector<const OpDefinition*> dropout_ops() { return {&dropout}; }

}  // namespace shardscope
