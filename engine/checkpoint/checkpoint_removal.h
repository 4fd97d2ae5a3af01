#pragma once

#include <string>
#include <vector>

#include "engine/checkpoint/file_calls.h"

namespace shardscope {

// What remains of a folder of a checkpoint that was to be removed.
struct Remains {
  bool is_gone = false;
  std::vector<std::string> others;  // what this program did not write, by name
};

// Removes what this program has written in a folder (index.json and the files of ranks, as far as they are regular
// files), and the folder, where nothing else is in it. Whatever else is in it, links and folders among it, stays; so
// does a name that is no folder, but a link to one. Without `others` what remains goes by itself, and is to be removed
// again later (files that NFS holds for some process). Throws Failure unwritable_checkpoint.
Remains remove_checkpoint(const FileCalls& calls, const HeldFolder& in, const std::string& name);

}  // namespace shardscope
