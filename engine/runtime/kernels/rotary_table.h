#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace shardscope {

// Cosines and sines of the angles of positions [first, first + count): of position p and frequency i of n at
// [(p - first) n + i], times the magnitude. An angle is the f32 product of frequency and position.
struct RotaryTable {
  std::vector<float> cosines, sines;
};

// Kernels that ask for the same table share one, which lives as long as one of them.
std::shared_ptr<const RotaryTable> rotary_table(const std::vector<float>& frequencies, float magnitude, int64_t first,
                                                int64_t count);

}  // namespace shardscope
