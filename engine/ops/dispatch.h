#pragma once

#include <cstdint>
#include <string>

#include "engine/base/shape.h"

namespace shardscope {

// Tokens on their way to the experts that they chose. The tokens of a batch (b, s) are cut into blocks, `batch_blocks`
// along b and `length_blocks` along s; experts into `expert_blocks`. From each block of tokens to each block of experts
// go at most `rows` rows, in the order of their experts, within an expert in the order of the tokens. Where more choose
// a block of experts, the last of the tokens are left out: dropped.
//
//   expert_counts  choices i32 (b, s, k) -> how many rows go to each expert, i32 (q, p, n), and how many were dropped,
//                  f32. q: blocks of tokens, those of the length major; p: blocks of experts, of n experts each
//   dispatch       (x (b, s, d) or (b, s, k, d), choices, counts) -> rows (q, p, c, d); c = `rows`
//   combine        (rows, choices, counts) -> (b, s, k, d), zeros where dropped; `summed`: the sums over k, (b, s, d)
//
// Rows are moved in the floating-point type that they have; sums over k are taken in f32 and rounded once.
//
// With q split over the same mesh axis as p, rows travel from a device that has a block of tokens to the one that has
// the experts by an all-to-all from q to p, and back by one from p to q. Rows behind those that are counted hold
// nothing: zeros where an op makes them, anything where they were moved. No op looks at them.
struct DispatchAttributes {
  int64_t experts = 1;
  int64_t expert_blocks = 1, batch_blocks = 1, length_blocks = 1;
  int64_t rows = 1;
  bool summed = false;
  bool operator==(const DispatchAttributes&) const = default;

  int64_t block_experts() const { return experts / expert_blocks; }
  // The share of the rows that hold something where all experts are chosen equally often; choices (b, s, k).
  double filled(const Shape& choices) const;
};
std::string to_string(const DispatchAttributes& attributes);

}  // namespace shardscope
