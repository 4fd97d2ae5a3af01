#include "engine/ops/clip.h"

#include <fmt/format.h>

#include "engine/ops/elementwise_op.h"
#include "engine/ops/families.h"

namespace shardscope {

std::string to_string(const ClipBoundsAttributes& a) {
  return fmt::format("minimum={}, maximum={}", a.minimum, a.maximum);
}

namespace {

// (x, dy) -> dx: dy where x is within the bounds, at the bounds too, as torch.clamp's.
class ClipGrad : public ElementwiseOp {
 public:
  ClipGrad() : ElementwiseOp("clip_grad", 2, 1, 2) {}

 protected:
  void require(const Attributes& attributes) const override { attributes.as<ClipBoundsAttributes>(); }
};

const ClipGrad clip_grad;

// jax.numpy.clip(x, minimum, maximum), torch.clamp.
class Clip : public ElementwiseOp {
 public:
  Clip() : ElementwiseOp("clip", 1, 0, 2) {}

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    context.operand_cotangents[0] =
        context.append_value(clip_grad, {op.inputs[0], context.result_cotangents[0]}, op.attributes);
  }

 protected:
  void require(const Attributes& attributes) const override { attributes.as<ClipBoundsAttributes>(); }
};

const Clip clip;

}  // namespace

std::vector<const OpDefinition*> clip_ops() { return {&clip, &clip_grad}; }

}  // namespace shardscope
