#include "engine/ops/soft_cap.h"

#include <fmt/format.h>

#include "engine/ops/elementwise_op.h"
#include "engine/ops/families.h"

namespace shardscope {

std::string to_string(const SoftCapAttributes& attributes) { return fmt::format("cap={}", attributes.cap); }

namespace {

// (y, dy) -> dx = dy (1 - (y / cap)^2), of soft_cap's result.
class SoftCapGrad : public ElementwiseOp {
 public:
  SoftCapGrad() : ElementwiseOp("soft_cap_grad", 2, 1, 4) {}

 protected:
  void require(const Attributes& attributes) const override { attributes.as<SoftCapAttributes>(); }
};

const SoftCapGrad soft_cap_grad;

// cap tanh(x / cap): values within (-cap, cap), as Gemma 2 caps logits.
class SoftCap : public ElementwiseOp {
 public:
  SoftCap() : ElementwiseOp("soft_cap", 1, 0, 14) {}

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    context.operand_cotangents[0] =
        context.append_value(soft_cap_grad, {op.outputs[0], context.result_cotangents[0]}, op.attributes);
  }

 protected:
  void require(const Attributes& attributes) const override { attributes.as<SoftCapAttributes>(); }
};

const SoftCap soft_cap;

}  // namespace

std::vector<const OpDefinition*> soft_cap_ops() { return {&soft_cap, &soft_cap_grad}; }

}  // namespace shardscope
