#include "engine/ops/clip.h"

#include <fmt/format.h>

#include "engine/ops/elementwise_op.h"

namespace shardscope {

std::string to_string(const ClipBoundsAttributes& a) {
  return fmt::format("minimum={}, maximum={}", a.minimum, a.maximum);
}

namespace {

// (x, dy) -> dx: dy where x is within the bounds, at the bounds too, as torch.clamp's.
const ElementwiseOp clip_grad("clip_grad", 2, 1, 2, require_attributes<ClipBoundsAttributes>);

// jax.numpy.clip(x, minimum, maximum), torch.clamp.
const ElementwiseFunction clip("clip", 2, clip_grad, ElementwiseFunction::GradientOf::operand,
                               require_attributes<ClipBoundsAttributes>);

}  // namespace

std::vector<const OpDefinition*> clip_ops() { return {&clip, &clip_grad}; }

}  // namespace shardscope
