#include "engine/plan/packing.h"

#include <algorithm>
#include <numeric>

#include "engine/base/align.h"

namespace shardscope {

int64_t pack(std::vector<Buffer>& buffers, int) {
  std::vector<int> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (buffers[a].persistent != buffers[b].persistent) return buffers[a].persistent;
    return buffers[a].bytes > buffers[b].bytes;
  });
  std::vector<int> placed;  // by offset
  int64_t top = 0;
  for (int id : order) {
    Buffer& buffer = buffers[id];
    int64_t offset = 0, bytes = round_up(buffer.bytes);
    for (int other_id : placed) {
      const Buffer& other = buffers[other_id];
      if (other.last < buffer.first || buffer.last < other.first) continue;
      if (offset + bytes <= other.offset) break;
      offset = std::max(offset, other.offset + round_up(other.bytes));
    }
    buffer.offset = offset;
    top = std::max(top, offset + bytes);
    auto where = std::find_if(placed.begin(), placed.end(), [&](int other) { return buffers[other].offset > offset; });
    placed.insert(where, id);
  }
  return top;
}

}  // namespace shardscope
