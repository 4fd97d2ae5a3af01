#pragma once

#include <span>

#include "engine/graph/op_definition.h"

namespace shardscope {

// Of ops that are matrix products: their operands are of one floating-point type, and their results of that type too
// (of f8 bf16), or f32 where the attributes say so. Sums are taken in f32.
DType product_result(DType operands, bool wide);

// A cotangent of such a result, in the type of the operands: through a cast where it is of another.
ValueId product_cotangent(GradientContext& context, ValueId cotangent, DType operands);

}  // namespace shardscope
