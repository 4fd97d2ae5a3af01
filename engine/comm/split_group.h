#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shardscope {

// What each member says when a communicator that speaks MPI is split: color and key, as MPI_Comm_split has them, and
// the smallest tag that it has free.
struct SplitChoice {
  int32_t color, key, next_tag;
};

// The new group of those that chose one color: members of the old one in the order of their keys (of equals in the old
// order), and a tag that all have free.
struct SplitGroup {
  std::vector<int> members;
  int tag = 0;
};
SplitGroup split_group(std::span<const SplitChoice> choices, int color);

}  // namespace shardscope
