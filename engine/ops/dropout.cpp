#include "engine/ops/dropout.h"

#include <fmt/format.h>

#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const DropoutAttributes& a) {
  if (a == DropoutAttributes{}) return "rate=0";
  std::string key = fmt::format("{:08x}{:08x}+{}*step+{}", a.key.key.k0, a.key.key.k1, a.key.stride, a.key.offset);
  if (a.key.fold) key += fmt::format("+{}", *a.key.fold);
  return fmt::format("rate={}, key={}", a.rate, key);
}

uint64_t hash_of(const DropoutAttributes& attributes) {
  return (uint64_t{attributes.key.offset} << 32) ^ attributes.key.fold.value_or(0);
}

namespace {

// flax.linen.Dropout: keeps element i (row-major index in the whole array) where bernoulli(key, 1 - rate)[i] and scales
// it by 1 / (1 - rate), the key being that of the training step. The identity where nothing is trained. Linear in x,
// and its own gradient.
class Dropout : public LabelledOp {
 public:
  std::string_view name() const override { return "dropout"; }
  std::string_view work_kind() const override { return "elementwise"; }
  int in_place_operand(int) const override { return 0; }

  void gradient(GradientContext& context) const override {
    const Op& op = context.graph.ops[context.op];
    Attributes attributes = op.attributes;
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, attributes);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<DropoutAttributes>();
    return elementwise(operands, 1, 1, /*linear=*/true);
  }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
  double flops_per_element() const override { return 1; }
};

const Dropout dropout;

}  // namespace

std::vector<const OpDefinition*> dropout_ops() { return {&dropout}; }

}  // namespace shardscope
