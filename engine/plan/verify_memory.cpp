#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory_resource>

#include "engine/base/error.h"
#include "engine/plan/memory_plan.h"

namespace shardscope {

namespace {

[[noreturn]] void fail(const Buffer& buffer, const std::string& what) {
  throw Failure(
      Error{"invalid_memory_plan", what,
            at_name(fmt::format("{} buffer of {} bytes at offset {}, positions {} to {}", name(buffer.category),
                                buffer.bytes, buffer.offset, buffer.first, buffer.last)),
            ""});
}

}  // namespace

// A sweep over positions, with what is alive by offset: a buffer that comes may only touch its two neighbours.
void verify_memory(const ArenaLayout& arena) {
  const std::vector<Buffer>& buffers = arena.buffers;
  std::vector<int> comings(buffers.size()), goings;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (buffer.offset < 0 || buffer.offset + buffer.bytes > arena.bytes) fail(buffer, "leaves the arena");
    comings[i] = static_cast<int>(i);
  }
  goings = comings;
  std::ranges::sort(comings, {}, [&](int i) { return buffers[i].first; });
  std::ranges::sort(goings, {}, [&](int i) { return buffers[i].last; });
  std::pmr::unsynchronized_pool_resource nodes;
  std::pmr::map<int64_t, int> alive(&nodes);
  auto gone = goings.begin();
  for (int id : comings) {
    const Buffer& buffer = buffers[id];
    for (; buffers[*gone].last < buffer.first; ++gone) alive.erase(buffers[*gone].offset);
    auto overlaps = [&](int other) {
      return buffer.offset < buffers[other].offset + buffers[other].bytes &&
             buffers[other].offset < buffer.offset + buffer.bytes;
    };
    auto above = alive.lower_bound(buffer.offset);
    if (above != alive.end() && overlaps(above->second)) fail(buffer, "overlaps one that is alive with it");
    if (above != alive.begin() && overlaps(std::prev(above)->second))
      fail(buffer, "overlaps one that is alive with it");
    alive.emplace_hint(above, buffer.offset, id);
  }
}

}  // namespace shardscope
