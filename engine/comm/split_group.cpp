#include "engine/comm/split_group.h"

#include <algorithm>

namespace shardscope {

SplitGroup split_group(std::span<const SplitChoice> choices, int color) {
  SplitGroup group;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].color != color) continue;
    group.members.push_back(static_cast<int>(i));
    group.tag = std::max<int>(group.tag, choices[i].next_tag);
  }
  std::ranges::stable_sort(group.members, {}, [&](int i) { return choices[static_cast<size_t>(i)].key; });
  return group;
}

}  // namespace shardscope
