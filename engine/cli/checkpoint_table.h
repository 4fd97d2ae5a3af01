#pragma once

#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_list.h"

namespace shardscope {

// The checkpoints of a folder, a line for each.
struct CheckpointTable {
  std::string text;
  bool all_whole = true;  // none of them is damaged
};

// `verify`: every byte is read and compared. One that is removed meanwhile, by the run that writes there, is said to
// be, and is not damaged.
CheckpointTable checkpoint_table(const std::vector<FoundCheckpoint>& found, bool verify);

}  // namespace shardscope
