#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

struct FoundCheckpoint {
  int64_t step = 0;
  std::string path;  // DIR/step_000120
  bool operator==(const FoundCheckpoint&) const = default;
};

// The checkpoints of a folder by step, whole or damaged; none where there is no such folder.
std::vector<FoundCheckpoint> list_checkpoints(const std::string& folder);
// Whether a path is that of a checkpoint, by its name or its index, rather than of a folder of them.
bool is_checkpoint(const std::string& path);
// Whether a folder holds an index that this program wrote, as far as its beginning tells.
bool has_checkpoint_index(const std::string& folder);
// Whether nothing has this path any more: the run that writes there keeps only its newest.
bool is_removed(const std::string& checkpoint);
std::string folder_of(const std::string& checkpoint);
// The newest checkpoint of a folder of which every bit is as it was written: reads them, newest first.
std::optional<FoundCheckpoint> newest_good_checkpoint(const std::string& folder);
// What a person does about a damaged checkpoint: "resume from DIR/step_000100, the newest whole one".
std::string hint_for_damaged(const std::string& checkpoint);

}  // namespace shardscope
