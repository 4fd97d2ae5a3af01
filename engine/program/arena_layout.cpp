#include "engine/program/arena_layout.h"

#include "engine/base/align.h"

namespace shardscope {

std::string_view name(MemoryCategory category) {
  constexpr std::string_view names[] = {"parameters",  "gradients",   "optimizer",
                                        "activations", "collectives", "workspace"};
  return names[static_cast<int>(category)];
}

MessageLayout message_layout(const Program& program, const Step& send) {
  MessageLayout layout;
  for (int value : send.inputs) {
    layout.offsets.push_back(round_up(layout.bytes));
    layout.bytes = layout.offsets.back() + program.values[value].bytes();
  }
  return layout;
}

}  // namespace shardscope
