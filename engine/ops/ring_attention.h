#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
//   roll             x (b, s, ...), s in n blocks: block i of the result is block i - 1 of x, block 0 the last; or by
//                    another shift, and for some blocks alone, zeros elsewhere. Where each device has one block, it
//                    is sent to the device that is so far on
//   attention_block  (q, k, v) -> (context, log-sum-exp): of the queries of block i and the keys of block i - step
//                    alone, which stand in its place; both are zero and the lowest number where a query sees none
//   merge_attention  (context, lse) of two sets of keys -> those of both
//   ring_attention   hands on what was merged. Its gradient is that of attention: once more round the ring, with the
//                    gradients of keys and values; the ops that made its last two operands need none
//
// With a window most blocks of queries see nothing of most blocks of keys. Then nothing goes round: what a block sees
// beside its own keys is sent to it straight from where it is, by halves of a block, a chunk each, for a window mostly
// reaches into one of the two:
//
//   block_halves     x (b, s, ...), s in n blocks -> the first chunks of all blocks (b, s/2, ...), and the second ones
//   join_halves      and back
//
//   first, second = block_halves(k) . k1 = roll(first; shift 1; to those that see it) . attention_block(q, k1, v1;
//   step 1, half 0) . k2 = roll(second; shift -1; ...) . attention_block(q, k2, v2; step n - 1, half 1) . ...
struct RingAttributes {
  AttentionAttributes attention;   // causal, without dropout
  int64_t blocks = 1, length = 1;  // of the whole sequence
  int64_t step = 0;
  int64_t half = -1;  // of their blocks that keys and values are: 0, 1, or whole blocks
  bool operator==(const RingAttributes&) const = default;
};
std::string to_string(const RingAttributes& attributes);
uint64_t hash_of(const RingAttributes& attributes);

// Whether some of the queries of a chunk, of 2n in the order of positions, see some of the keys of another.
bool sees_chunk(const RingAttributes& attributes, int64_t query_chunk, int64_t key_chunk);

// What a window lets blocks see of others: steps and halves, each with the blocks of queries that see it, ascending.
struct SeenHalf {
  int64_t step = 1, half = 0;
  std::vector<int64_t> receivers;
  bool operator==(const SeenHalf&) const = default;
};
std::vector<SeenHalf> seen_halves(const RingAttributes& attributes);
// Whether keys and values are sent so: there is a window shorter than the sequence, and more than one block.
bool sends_halves(const RingAttributes& attributes);

// Attributes of op roll.
struct RollAttributes {
  int64_t blocks = 1;
  int64_t shift = 1;                    // by so many blocks
  std::vector<int64_t> receivers = {};  // blocks of the result that are not zeros, ascending; none are named: all
  bool operator==(const RollAttributes&) const = default;
};
std::string to_string(const RollAttributes& attributes);

// Attributes of ops block_halves and join_halves.
struct BlockAttributes {
  int64_t blocks = 1;
  bool operator==(const BlockAttributes&) const = default;
};
std::string to_string(const BlockAttributes& attributes);

}  // namespace shardscope
