#pragma once

#include <cstdint>
#include <string>

#include "engine/ops/attention.h"

namespace shardscope {

// Causal attention of a sequence in blocks, as ring attention computes it (H. Liu, M. Zaharia & P. Abbeel, 2023): the
// queries of a block stay, keys and values go round, and after as many steps as there are blocks each has met each.
//
//   k1 = roll(k) . v1 = roll(v) . c0, l0 = attention_block(q, k, v; step 0) . c1, l1 = attention_block(q, k1, v1; step
//   1) . c, l = merge_attention(c0, l0, c1, l1) . ... . context, lse = ring_attention(q, k, v, c, l)
//
// The sequence is in zig-zag order (op zigzag, W. Brandon et al., Striped Attention, 2023, of Megatron-LM's context
// parallelism): block i of n is chunks i and 2n-1-i of 2n, so that in every step all blocks see as many keys.
//
//   roll             x (b, s, ...), s in n blocks: block i of the result is block i - 1 of x, block 0 the last. Where
//                    each device has one block, it is sent on to the next device
//   attention_block  (q, k, v) -> (context, log-sum-exp): of the queries of block i and the keys of block i - step
//                    alone, which stand in its place; both are zero and the lowest number where a query sees none
//   merge_attention  (context, lse) of two sets of keys -> those of both
//   ring_attention   hands on what was merged. Its gradient is that of attention: once more round the ring, with the
//                    gradients of keys and values; the ops that made its last two operands need none
struct RingAttributes {
  AttentionAttributes attention;   // causal, without dropout
  int64_t blocks = 1, length = 1;  // of the whole sequence
  int64_t step = 0;
  bool operator==(const RingAttributes&) const = default;
};
std::string to_string(const RingAttributes& attributes);
uint64_t hash_of(const RingAttributes& attributes);

// Attributes of op roll.
struct RollAttributes {
  int64_t blocks = 1;
  int64_t shift = 1;  // by so many blocks
  bool operator==(const RollAttributes&) const = default;
};
std::string to_string(const RollAttributes& attributes);

}  // namespace shardscope
