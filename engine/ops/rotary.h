#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

// Attributes of op rotary: x (b, s, h, d) -> the same, of which pairs of elements of each head are turned by an angle
// that grows with the position s (J. Su et al., RoFormer, 2021). Pair i of n is turned by frequencies[i] x s, counted
// from 0 in the whole sequence, and multiplied by `magnitude`; elements from 2 n on stay as they are. The angle is
// taken in f32, as transformers' apply_rotary_pos_emb does.
//
// Pair i is elements (i, i + n), or (2 i, 2 i + 1) where `interleaved`.
struct RotaryAttributes {
  std::vector<float> frequencies;  // in radians a position; at most d / 2
  float magnitude = 1;
  bool interleaved = false;
  bool backward = false;  // turned back: the transposed map, for gradients
  int64_t blocks = 1;     // in which the sequence is in zig-zag order (zigzag.h); 1: in its own
  bool operator==(const RotaryAttributes&) const = default;
};
std::string to_string(const RotaryAttributes& attributes);
uint64_t hash_of(const RotaryAttributes& attributes);

}  // namespace shardscope
