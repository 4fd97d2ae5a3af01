#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/plan/plan.h"
#include "viz/paint/picture_rect.h"

namespace shardscope {

// The part of an arena's life that is looked at: positions [first_step, last_step], bytes [low, high).
struct MemoryWindow {
  double first_step = 0, last_step = 0;
  double low = 0, high = 0;
};

MemoryWindow whole_life(const ArenaLayout& arena);

struct BufferRect {
  int buffer = -1;
  PictureRect place;  // pixels; y grows with the offset (offset `low` at y = 0)
};

// The buffers of the window that are large enough to be seen in width x height pixels (at least `least` pixels in both
// directions, clipped to the window), by area, largest first. Small ones are left out, so that the result has at most
// width * height / least^2 entries and in practice a few hundred.
std::vector<BufferRect> visible_buffers(const ArenaLayout& arena, const MemoryWindow& window, double width,
                                        double height, double least = 1);

using CategoryBytes = std::array<int64_t, memory_category_count>;

// Live bytes by category at every position of the main sequence.
std::vector<CategoryBytes> live_bytes(const ArenaLayout& arena);

}  // namespace shardscope
