#include "engine/ops/soft_cap.h"

#include <fmt/format.h>

#include "engine/ops/elementwise_op.h"

namespace shardscope {

std::string to_string(const SoftCapAttributes& attributes) { return fmt::format("cap={}", attributes.cap); }

namespace {

// (y, dy) -> dx = dy (1 - (y / cap)^2), of soft_cap's result.
const ElementwiseOp soft_cap_grad("soft_cap_grad", 2, 1, 4, require_attributes<SoftCapAttributes>);

// cap tanh(x / cap): values within (-cap, cap), as Gemma 2 caps logits.
const ElementwiseFunction soft_cap("soft_cap", 14, soft_cap_grad, ElementwiseFunction::GradientOf::result,
                                   require_attributes<SoftCapAttributes>);

}  // namespace

std::vector<const OpDefinition*> soft_cap_ops() { return {&soft_cap, &soft_cap_grad}; }

}  // namespace shardscope
