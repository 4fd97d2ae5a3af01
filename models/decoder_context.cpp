#include "models/decoder_context.h"

#include <array>

#include "engine/ops/ring_attention.h"
#include "engine/ops/zigzag.h"

namespace shardscope {

namespace {

std::vector<ValueId> merge(const Module& ops, const std::vector<ValueId>& merged, const std::vector<ValueId>& seen) {
  if (merged.empty()) return seen;
  return ops.append_all("merge_attention", {merged[0], merged[1], seen[0], seen[1]});
}

// Keys and values go round, block by block.
std::vector<ValueId> attend_round(const Module& ops, const std::vector<ValueId>& operands, RingAttributes ring) {
  const RollAttributes next{ring.blocks, 1, {}};
  ValueId key = operands[1], value = operands[2];
  std::vector<ValueId> merged;
  for (ring.step = 0; ring.step < ring.blocks; ++ring.step) {
    const std::vector<ValueId> block{operands[0], key, value};
    if (ring.step + 1 < ring.blocks) {
      key = ops.append("roll", {key}, next, "roll_key");
      value = ops.append("roll", {value}, next, "roll_value");
    }
    merged = merge(ops, merged, ops.append_all("attention_block", block, ring));
  }
  return merged;
}

// Each block is sent the halves of others that its queries see.
std::vector<ValueId> attend_to_seen(const Module& ops, const std::vector<ValueId>& operands, RingAttributes ring) {
  std::vector<ValueId> merged = ops.append_all("attention_block", operands, ring);
  const std::vector<SeenHalf> seen = seen_halves(ring);
  if (seen.empty()) return merged;
  const BlockAttributes blocks{ring.blocks};
  const std::array<std::vector<ValueId>, 2> halves{
      ops.append_all("block_halves", {operands[1]}, blocks, "key_halves"),
      ops.append_all("block_halves", {operands[2]}, blocks, "value_halves")};
  for (const SeenHalf& one : seen) {
    const RollAttributes there{ring.blocks, one.step, one.receivers};
    const auto half = static_cast<size_t>(one.half);
    ring.step = one.step, ring.half = one.half;
    const ValueId key = ops.append("roll", {halves[0][half]}, there, "send_key");
    const ValueId value = ops.append("roll", {halves[1][half]}, there, "send_value");
    merged = merge(ops, merged, ops.append_all("attention_block", {operands[0], key, value}, ring));
  }
  return merged;
}

}  // namespace

std::vector<ValueId> attend(const DecoderModule& module, const std::vector<ValueId>& operands,
                            const AttentionAttributes& attributes) {
  const Module& ops = module.module();
  const int64_t blocks = module.options().ring_blocks;
  if (blocks == 1) return ops.attention(operands, attributes);
  const PlaceScope place(module.graph(), LayerPart::attention);
  const RingAttributes ring{attributes, blocks, module.graph().type(operands[0]).shape[1], 0, -1};
  const std::vector<ValueId> merged =
      sends_halves(ring) ? attend_to_seen(ops, operands, ring) : attend_round(ops, operands, ring);
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
