#include "engine/ops/scale.h"

#include <fmt/format.h>

#include "engine/ops/elementwise_op.h"

namespace shardscope {

std::string to_string(const ScaleAttributes& attributes) { return fmt::format("scale={}", attributes.scale); }

namespace {

// x times a constant. Linear, and its own gradient.
const LinearFunction scale("scale", 1, require_attributes<ScaleAttributes>);

}  // namespace

std::vector<const OpDefinition*> scale_ops() { return {&scale}; }

}  // namespace shardscope
