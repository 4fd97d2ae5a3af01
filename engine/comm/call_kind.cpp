#include "engine/comm/call_kind.h"

#include <iterator>

#include "engine/base/enum_count.h"

namespace shardscope {

std::string_view name(CallKind kind) {
  constexpr std::string_view names[] = {"barrier",        "all-gather", "all-reduce",
                                        "reduce-scatter", "all-to-all", "collective-permute"};
  static_assert(std::size(names) == enum_count<CallKind>);
  return names[static_cast<int>(kind)];
}

}  // namespace shardscope
