#include "viz/paint/memory_geometry.h"

#include <algorithm>
#include <cmath>

#include "engine/base/units.h"
#include "viz/paint/ticks.h"

namespace shardscope {
namespace {

// How much of each cell a span [begin, end] of cells covers, as differences between neighbouring cells: their
// running sum is the share.
struct Edges {
  std::array<std::pair<int, double>, 4> differences;

  Edges(double begin, double end) {
    const int first = static_cast<int>(begin), last = static_cast<int>(end);
    const double from = begin - first, to = end - last;
    differences = {{{first, 1 - from}, {first + 1, from}, {last, to - 1}, {last + 1, -to}}};
  }
};

// Sums of covered areas: each rectangle changes a few differences, whatever its size, and one running sum over rows and
// columns at the end gives the shares (summed-area table, backwards).
class GrainSums {
 public:
  GrainSums(double width, double height, double cell)
      : cell_(cell),
        columns_(static_cast<int>(std::ceil(width / cell))),
        rows_(static_cast<int>(std::ceil(height / cell))) {}

  void add(const PictureRect& place, MemoryCategory category) {
    std::vector<double>& sums = sums_[static_cast<size_t>(category)];
    if (sums.empty()) sums.resize(at(rows_ + 2, 0));
    const Edges across(place.x / cell_, place.right() / cell_), up(place.y / cell_, place.bottom() / cell_);
    for (const auto& [row, dy] : up.differences)
      for (const auto& [column, dx] : across.differences) sums[at(row, column)] += dx * dy;
  }

  MemoryGrain take() {
    MemoryGrain grain{cell_, columns_, rows_, {}};
    grain.shares.resize(size_t(columns_) * size_t(rows_));
    for (size_t category = 0; category < sums_.size(); ++category) {
      std::vector<double>& sums = sums_[category];
      if (sums.empty()) continue;
      for (int row = 0; row < rows_; ++row) {
        double along = 0;
        for (int column = 0; column < columns_; ++column) {
          double& sum = sums[at(row, column)];
          along += sum;
          sum = along + (row > 0 ? sums[at(row - 1, column)] : 0);
          grain.shares[size_t(row) * size_t(columns_) + size_t(column)][category] = float(sum);
        }
      }
    }
    return grain;
  }

 private:
  // A span that ends with the last cell changes the one behind it and the next.
  size_t at(int row, int column) const { return size_t(row) * size_t(columns_ + 2) + size_t(column); }

  double cell_;
  int columns_, rows_;
  std::array<std::vector<double>, memory_category_count> sums_;
};

}  // namespace

MemoryWindow whole_life(const ArenaLayout& arena) {
  return {0, std::max<double>(0, double(arena.length) - 1), 0, double(arena.bytes)};
}

MemoryPicture lay_out(const ArenaLayout& arena, const MemoryWindow& window, double width, double height, double least) {
  const double step_pixels = width / (window.last_step - window.first_step + 1);
  const double byte_pixels = height / std::max(1.0, window.high - window.low);
  MemoryPicture picture;
  GrainSums sums(width, height, least);
  for (size_t i = 0; i < arena.buffers.size(); ++i) {
    const Buffer& buffer = arena.buffers[i];
    const double left = std::max(0.0, (buffer.first - window.first_step) * step_pixels);
    const double right = std::min(width, (buffer.last + 1 - window.first_step) * step_pixels);
    const double top = std::max(0.0, (double(buffer.offset) - window.low) * byte_pixels);
    const double bottom = std::min(height, (double(buffer.offset + buffer.bytes) - window.low) * byte_pixels);
    if (right <= left || bottom <= top) continue;
    const PictureRect place{left, top, right - left, bottom - top};
    if (place.width >= least && place.height >= least) {
      picture.rects.push_back({static_cast<int>(i), place});
    } else {
      sums.add(place, buffer.category);
    }
  }
  std::ranges::stable_sort(picture.rects, [](const BufferRect& a, const BufferRect& b) {
    return a.place.width * a.place.height > b.place.width * b.place.height;
  });
  picture.grain = sums.take();
  return picture;
}

int buffer_at(const ArenaLayout& arena, int position, double offset) {
  const auto found = std::ranges::find_if(arena.buffers, [&](const Buffer& buffer) {
    return buffer.first <= position && position <= buffer.last && double(buffer.offset) <= offset &&
           offset < double(buffer.offset + buffer.bytes);
  });
  return found == arena.buffers.end() ? -1 : static_cast<int>(found - arena.buffers.begin());
}

ByteAxis byte_axis(double low, double high, int most) {
  const ByteUnit unit = byte_unit(high);
  const Ticks ticks = round_ticks(low / unit.bytes, high / unit.bytes, most);
  ByteAxis axis{unit.name, {}};
  const double slack = (high - low) * 1e-9;
  for (int mark = 0; mark < ticks.count; ++mark) {
    const double bytes = (ticks.first + ticks.step * mark) * unit.bytes;
    if (bytes >= low - slack && bytes <= high + slack) axis.marks.push_back({bytes, ticks.label(mark)});
  }
  return axis;
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
