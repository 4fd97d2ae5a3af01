#include "models/decoder_context.h"

#include "engine/ops/ring_attention.h"
#include "engine/ops/zigzag.h"

namespace shardscope {

std::vector<ValueId> attend(const DecoderModule& module, const std::vector<ValueId>& operands,
                            const AttentionAttributes& attributes) {
  const Module& ops = module.module();
  const int64_t blocks = module.options().ring_blocks;
  if (blocks == 1) return ops.attention(operands, attributes);
  const PlaceScope place(module.graph(), LayerPart::attention);
  RingAttributes ring{attributes, blocks, module.graph().type(operands[0]).shape[1], 0};
  const RollAttributes next{blocks, 1};
  ValueId key = operands[1], value = operands[2];
  std::vector<ValueId> merged;
  for (ring.step = 0; ring.step < blocks; ++ring.step) {
    const std::vector<ValueId> block{operands[0], key, value};
    if (ring.step + 1 < blocks) {
      key = ops.append("roll", {key}, next, "roll_key");
      value = ops.append("roll", {value}, next, "roll_value");
    }
    const std::vector<ValueId> seen = ops.append_all("attention_block", block, ring);
    merged = merged.empty() ? seen : ops.append_all("merge_attention", {merged[0], merged[1], seen[0], seen[1]});
  }
  ring.step = 0;
  return ops.append_all("ring_attention", {operands[0], operands[1], operands[2], merged[0], merged[1]}, ring);
}

ValueId turn_by_position(const DecoderModule& module, ValueId x, RotaryAttributes rotary) {
  rotary.blocks = module.options().ring_blocks;
  return module.module().append("rotary", {x}, std::move(rotary));
}

ValueId in_zigzag(const DecoderModule& module, ValueId x, int dimension, const char* leaf) {
  const int64_t blocks = module.options().ring_blocks;
  return blocks == 1 ? x : module.module().append("zigzag", {x}, ZigzagAttributes{blocks, dimension, false}, leaf);
}

}  // namespace shardscope
