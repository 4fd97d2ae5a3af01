#pragma once

#include <array>
#include <cstdint>
#include <string>
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

// What is too thin to be drawn by itself, summed: square cells of `cell` pixels, row by row from y = 0; of each the
// share that such buffers cover, by category.
struct MemoryGrain {
  double cell = 1;
  int columns = 0, rows = 0;
  std::vector<std::array<float, memory_category_count>> shares;
};

// A window of an arena's life in width x height pixels. All that is in use is in it, at any depth: a buffer of at least
// `least` pixels in both directions (clipped to the window) is a rectangle, any other one is in the grain, whose cells
// are `least` pixels wide. So the areas of both add up to those of the buffers. Rectangles by area, largest first; at
// most width * height / least^2. Time goes with the number of buffers and of cells.
struct MemoryPicture {
  std::vector<BufferRect> rects;
  MemoryGrain grain;
};
MemoryPicture lay_out(const ArenaLayout& arena, const MemoryWindow& window, double width, double height,
                      double least = 2);

// The buffer that is in use at a position, at an offset; -1 where none is.
int buffer_at(const ArenaLayout& arena, int position, double offset);

// Marks of an axis of bytes at round numbers of one unit.
struct ByteAxis {
  struct Mark {
    double bytes = 0;
    std::string label;  // "1.5", without the unit
  };
  std::string unit;  // "GiB": the one in which `high` is written
  std::vector<Mark> marks;
};
// At most `most` marks (3 or more), all of them in low..high.
ByteAxis byte_axis(double low, double high, int most);

// Live bytes by category at every position of the main sequence.
std::vector<CategoryBytes> live_bytes(const ArenaLayout& arena);

}  // namespace shardscope
