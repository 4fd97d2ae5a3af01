#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/arena_layout.h"

namespace shardscope {

// Where most is alive, in whole lines: no arena can be smaller.
struct LivePeak {
  int position = 0;
  int64_t bytes = 0;
};
LivePeak live_peak(const std::vector<Buffer>& buffers, int length);

// Gives every buffer an offset, a whole number of lines, such that none overlaps another while both are alive; returns
// the bytes of the arena. In n log n.
//
// Grows from one position outwards: what is alive there is stacked without a gap, persistent and long-lived buffers
// below. Then, forwards and backwards from it, each buffer that comes takes the smallest gap that holds it, or else the
// top; what goes leaves a gap. A buffer is either alive at the position, or wholly before or behind it, so the two
// directions do not meet. From the position where most is alive that is often already the live lower bound, which no
// packing can beat, or all but a ten-thousandth; else other orders and the ends of the sequence are tried too, and the
// smallest arena counts. At last all but the persistent buffers are turned upside down: a long-lived one then ends the
// arena, not workspace, of which a kernel need not touch all, so that the use of the arena can be measured.
int64_t pack(std::vector<Buffer>& buffers, int length);

}  // namespace shardscope
