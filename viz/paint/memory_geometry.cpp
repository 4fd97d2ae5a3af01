#include "viz/paint/memory_geometry.h"

#include <algorithm>

namespace shardscope {

MemoryWindow whole_life(const ArenaLayout& arena) {
  return {0, std::max<double>(0, double(arena.length) - 1), 0, double(arena.bytes)};
}

std::vector<BufferRect> visible_buffers(const ArenaLayout& arena, const MemoryWindow& window, double width,
                                        double height, double least) {
  const double step_pixels = width / (window.last_step - window.first_step + 1);
  const double byte_pixels = height / std::max(1.0, window.high - window.low);
  std::vector<BufferRect> rects;
  for (size_t i = 0; i < arena.buffers.size(); ++i) {
    const Buffer& buffer = arena.buffers[i];
    const double left = std::max(0.0, (buffer.first - window.first_step) * step_pixels);
    const double right = std::min(width, (buffer.last + 1 - window.first_step) * step_pixels);
    const double top = std::max(0.0, (double(buffer.offset) - window.low) * byte_pixels);
    const double bottom = std::min(height, (double(buffer.offset + buffer.bytes) - window.low) * byte_pixels);
    if (right - left < least || bottom - top < least) continue;
    rects.push_back({static_cast<int>(i), {left, top, right - left, bottom - top}});
  }
  std::ranges::stable_sort(rects, [](const BufferRect& a, const BufferRect& b) {
    return a.place.width * a.place.height > b.place.width * b.place.height;
  });
  return rects;
}

std::vector<CategoryBytes> live_bytes(const ArenaLayout& arena) {
  const int steps = arena.length;
  std::vector<CategoryBytes> live(steps + 1, CategoryBytes{});
  for (const Buffer& buffer : arena.buffers) {
    const int first = std::clamp(buffer.first, 0, steps), last = std::clamp(buffer.last, -1, steps - 1);
    if (last < first) continue;
    live[first][static_cast<int>(buffer.category)] += buffer.bytes;
    live[last + 1][static_cast<int>(buffer.category)] -= buffer.bytes;
  }
  for (int s = 1; s < steps; ++s)
    for (int c = 0; c < memory_category_count; ++c) live[s][c] += live[s - 1][c];
  live.resize(steps);
  return live;
}

}  // namespace shardscope
