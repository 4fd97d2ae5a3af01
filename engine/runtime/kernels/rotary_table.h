#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/ops/zigzag.h"

namespace shardscope {

// Cosines and sines of the angles of the positions that stand at [first, first + count) of a sequence: of index p and
// frequency i of n at [(p - first) n + i], times the magnitude. An angle is the f32 product of frequency and position.
struct RotaryTable {
  std::vector<float> cosines, sines;
};

// Kernels that ask for the same table share one, which lives as long as one of them.
std::shared_ptr<const RotaryTable> rotary_table(const std::vector<float>& frequencies, float magnitude, int64_t first,
                                                int64_t count, const Zigzag& order = {});

}  // namespace shardscope
