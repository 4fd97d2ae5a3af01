#include "engine/program/pipeline_order.h"

#include <iterator>

#include "engine/base/enum_count.h"

namespace shardscope {

std::string_view name(Work work) {
  constexpr std::string_view names[] = {"forward", "backward", "backward of inputs", "backward of weights"};
  static_assert(std::size(names) == enum_count<Work>);
  return names[static_cast<int>(work)];
}

}  // namespace shardscope
