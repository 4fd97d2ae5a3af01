#include "engine/program/pipeline_order.h"

namespace shardscope {

std::string_view name(Work work) {
  constexpr std::string_view names[] = {"forward", "backward", "backward of inputs", "backward of weights"};
  return names[static_cast<int>(work)];
}

}  // namespace shardscope
