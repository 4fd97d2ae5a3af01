#include "engine/ops/product_types.h"

#include "engine/ops/cast.h"
#include "engine/ops/registry.h"

namespace shardscope {

DType product_result(DType operands, bool wide) {
  if (wide) return DType::f32;
  return operands == DType::f8 ? DType::bf16 : operands;
}

ValueId product_cotangent(GradientContext& context, ValueId cotangent, DType operands) {
  if (context.graph.type(cotangent).dtype == operands) return cotangent;
  return context.append_value(op_definition("cast"), {cotangent}, CastAttributes{operands});
}

}  // namespace shardscope
