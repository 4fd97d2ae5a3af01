#include "engine/program/step.h"

namespace shardscope {

std::string_view name(StepKind kind) {
  constexpr std::string_view names[] = {"compute",        "slice",      "all-gather",        "all-reduce",
                                        "reduce-scatter", "all-to-all", "collective-permute"};
  return names[static_cast<int>(kind)];
}

}  // namespace shardscope
