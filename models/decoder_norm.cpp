#include "models/decoder_norm.h"

#include "engine/ops/layer_norm.h"

namespace shardscope {

ValueId decoder_norm(const DecoderModule& module, ValueId x, const std::string& logical) {
  return decoder_norm(module, module.options().norm, x, logical);
}

ValueId decoder_norm(const DecoderModule& module, const DecoderNorm& norm, ValueId x, const std::string& logical) {
  const Module& ops = module.module();
  const int64_t features = module.graph().type(x).shape.back();
  const TensorType row{{features}, DType::f32};
  ValueId scale = module.constant("weight", norm.plus_one ? 0 : 1, row.shape, {logical});
  if (norm.plus_one) scale = ops.add(scale, module.filled(1, row, "ones"), "plus_one");
  const LayerNormAttributes attributes{norm.epsilon, features};
  if (norm.kind == DecoderNorm::Kind::rms) {
    return ops.append("rms_norm", {x, scale, ops.append("rms_norm_squares", {x})}, attributes);
  }
  const ValueId bias = norm.bias ? module.constant("bias", 0, row.shape, {logical}) : module.filled(0, row, "no_bias");
  const std::vector<ValueId> sums = ops.append_all("layer_norm_moments", {x});
  return ops.append("layer_norm", {x, sums[0], sums[1], scale, bias}, attributes);
}

}  // namespace shardscope
