#include "engine/plan/packing.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory_resource>
#include <set>
#include <tuple>

#include "engine/base/align.h"

namespace shardscope {

namespace {

// Unused ranges below the top of a stack.
class Gaps {
 public:
  explicit Gaps(int64_t top) : top_(top) {}

  int64_t top() const { return top_; }

  int64_t take(int64_t bytes) {
    const auto fitting = by_size_.lower_bound({bytes, 0});
    if (fitting == by_size_.end()) return take_top(bytes);
    const auto [size, offset] = *fitting;
    remove(gaps_.find(offset));
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(int64_t offset, int64_t bytes) {
    auto above = gaps_.lower_bound(offset);
    if (above != gaps_.end() && above->first == offset + bytes) {
      bytes += above->second;
      above = remove(above);
    }
    if (above != gaps_.begin()) {
      const auto below = std::prev(above);
      if (below->first + below->second == offset) {
        offset = below->first;
        bytes += below->second;
        remove(below);
      }
    }
    add(offset, bytes);
  }

 private:
  int64_t take_top(int64_t bytes) {
    int64_t offset = top_;
    if (!gaps_.empty()) {
      const auto last = std::prev(gaps_.end());
      if (last->first + last->second == top_) offset = last->first, remove(last);
    }
    top_ = offset + bytes;
    return offset;
  }

  void add(int64_t offset, int64_t bytes) {
    gaps_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }

  using Gap = std::pmr::map<int64_t, int64_t>::iterator;

  Gap remove(Gap gap) {
    by_size_.erase({gap->second, gap->first});
    return gaps_.erase(gap);
  }

  int64_t top_;
  std::pmr::unsynchronized_pool_resource nodes_;
  std::pmr::map<int64_t, int64_t> gaps_{&nodes_};  // offset to bytes
  std::pmr::set<std::pair<int64_t, int64_t>> by_size_{&nodes_};
};

// An arena that is larger than the peak by no more than this part of it is as good as the peak.
constexpr int64_t parts_above_peak = 10000;

// Which of the buffers that come together is placed first.
enum class First { largest, longest };

class Packing {
 public:
  Packing(std::vector<Buffer>& buffers, int position, First first)
      : buffers_(buffers), position_(position), first_(first) {}

  int64_t run() {
    std::vector<Life> there, behind, before;
    for (int id = 0; id < static_cast<int>(buffers_.size()); ++id) {
      const Buffer& buffer = buffers_[id];
      if (buffer.last < position_) {
        before.push_back({id, -buffer.last, -buffer.first, round_up(buffer.bytes)});
      } else {
        (buffer.first > position_ ? behind : there).push_back({id, buffer.first, buffer.last, round_up(buffer.bytes)});
      }
    }
    std::ranges::sort(there, {}, [&](const Life& life) {
      const Buffer& buffer = buffers_[life.id];
      const int layer = buffer.persistent ? 0 : buffer.category == MemoryCategory::workspace ? 2 : 1;
      return std::tuple(layer, life.begin - life.end, life.id);
    });
    int64_t stacked = 0, persistent = 0;
    for (const Life& life : there) {
      buffers_[life.id].offset = stacked;
      stacked += life.bytes;
      if (buffers_[life.id].persistent) persistent = stacked;
    }
    const int64_t forwards = grow(there, behind, stacked);
    for (Life& life : there) life = {life.id, -life.end, -life.begin, life.bytes};
    const int64_t top = std::max(forwards, grow(there, before, stacked));
    turn_over(persistent, top);
    return top;
  }

 private:
  // A buffer's life, in the direction in which the arena grows.
  struct Life {
    int id;
    int begin, end;
    int64_t bytes;
  };

  int64_t grow(const std::vector<Life>& there, std::vector<Life>& coming, int64_t stacked) const {
    std::ranges::sort(coming, {}, [&](const Life& life) {
      return std::tuple(life.begin, first_ == First::largest ? -life.bytes : -life.end, life.id);
    });
    std::vector<Life> ending = there;
    ending.insert(ending.end(), coming.begin(), coming.end());
    std::ranges::sort(ending, {}, [](const Life& life) { return std::pair(life.end, life.id); });
    Gaps gaps(stacked);
    auto ended = ending.begin();
    for (const Life& life : coming) {
      for (; ended->end < life.begin; ++ended) gaps.give_back(buffers_[ended->id].offset, ended->bytes);
      buffers_[life.id].offset = gaps.take(life.bytes);
    }
    return gaps.top();
  }

  // What was stacked first comes to lie on top.
  void turn_over(int64_t persistent, int64_t top) {
    for (Buffer& buffer : buffers_) {
      if (!buffer.persistent) buffer.offset = persistent + top - buffer.offset - round_up(buffer.bytes);
    }
  }

  std::vector<Buffer>& buffers_;
  int position_;
  First first_;
};

}  // namespace

LivePeak live_peak(const std::vector<Buffer>& buffers, int length) {
  std::vector<int64_t> change(static_cast<size_t>(length) + 1);
  for (const Buffer& buffer : buffers) {
    change[buffer.first] += round_up(buffer.bytes);
    change[buffer.last + 1] -= round_up(buffer.bytes);
  }
  LivePeak peak;
  int64_t live = 0;
  for (int position = 0; position < length; ++position) {
    live += change[position];
    if (live > peak.bytes) peak = {position, live};
  }
  return peak;
}

int64_t pack(std::vector<Buffer>& buffers, int length) {
  const LivePeak peak = live_peak(buffers, length);
  int64_t best = Packing(buffers, peak.position, First::largest).run();
  const std::pair<int, First> further[] = {
      {peak.position, First::longest}, {0, First::longest}, {0, First::largest}, {length - 1, First::largest}};
  const int64_t good = peak.bytes + peak.bytes / parts_above_peak;
  for (const auto& [position, first] : further) {
    if (best <= good) break;
    std::vector<Buffer> others = buffers;
    const int64_t bytes = Packing(others, position, first).run();
    if (bytes < best) best = bytes, buffers = std::move(others);
  }
  return best;
}

}  // namespace shardscope
