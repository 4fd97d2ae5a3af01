#include "engine/program/arena_layout.h"

#include <algorithm>
#include <iterator>

#include "engine/base/align.h"
#include "engine/base/enum_count.h"

namespace shardscope {

std::string_view name(MemoryCategory category) {
  constexpr std::string_view names[] = {"parameters",  "gradients",   "optimizer",
                                        "activations", "collectives", "workspace"};
  static_assert(std::size(names) == enum_count<MemoryCategory>);
  return names[static_cast<int>(category)];
}

int64_t largest_arena_bytes(std::span<const ArenaLayout> arenas) {
  return std::ranges::max_element(arenas, {}, &ArenaLayout::bytes)->bytes;
}

MessageLayout message_layout(const Program& program, const Send& send) {
  MessageLayout layout;
  for (int value : send.operands) {
    layout.offsets.push_back(round_up(layout.bytes));
    layout.bytes = layout.offsets.back() + program.values[value].bytes();
  }
  return layout;
}

}  // namespace shardscope
