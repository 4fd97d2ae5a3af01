#include "engine/program/arena_layout.h"

namespace shardscope {

std::string_view name(MemoryCategory category) {
  constexpr std::string_view names[] = {"parameters",  "gradients",   "optimizer",
                                        "activations", "collectives", "workspace"};
  return names[static_cast<int>(category)];
}

}  // namespace shardscope
