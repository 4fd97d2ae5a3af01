#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_index.h"
#include "engine/checkpoint/file_calls.h"

namespace shardscope {

struct FoundCheckpoint {
  int64_t step = 0;
  std::string path;  // DIR/step_000120
  bool operator==(const FoundCheckpoint&) const = default;
};

std::string step_folder_name(int64_t step);  // "step_000120"
// The checkpoints of a folder by step, whole or damaged; none where there is no such folder.
std::vector<FoundCheckpoint> list_checkpoints(const std::string& folder);
// Whether a path is that of a checkpoint, by its name or its index, rather than of a folder of them.
bool is_checkpoint(const std::string& path);
std::string folder_of(const std::string& checkpoint);
// The newest checkpoint of a folder of which every bit is as it was written: reads them, newest first.
std::optional<FoundCheckpoint> newest_good_checkpoint(const std::string& folder);
// What a person does about a damaged checkpoint: "resume from DIR/step_000100, the newest whole one".
std::string hint_for_damaged(const std::string& checkpoint);

// The folder into which one run writes its checkpoints; it is the run's own while this lives. Checkpoints come to be
// beside the old ones, under a hidden name, and get their own when all of them is on the disk:
//
//   DIR/.step_000120.part   every rank: its file, written and synced
//                           rank 0: index.json, synced; the folder, synced
//   DIR/step_000120         renamed; DIR synced
//   DIR/.step_000090.gone   an old one that is no longer to be kept: renamed, then removed
//
// So a process that dies at any moment leaves every checkpoint as it was, and at most hidden folders, which the next
// run removes. One rank (0) has this object; the others write their files. All throw Failure unwritable_checkpoint.
class CheckpointFolder {
 public:
  // Makes the folder where there is none, and removes what a run that died has left. Throws Failure checkpoint_in_use
  // where another run writes there.
  CheckpointFolder(std::string path, const FileCalls& calls);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  // For a run that goes on from the checkpoint of `step` (nothing: that begins). Those that are newer than it and
  // damaged are put aside, as step_000140.damaged. Throws Failure checkpoint_exists where others are newer.
  void go_on_from(std::optional<int64_t> step, const std::vector<int64_t>& damaged);
  // When every rank has written its file; all hashes are there. Afterwards the newest `keep` remain.
  void complete(const CheckpointIndex& index, int keep);
  bool holds(int64_t step) const;
  // What was begun and cannot be completed is removed.
  void abandon(int64_t step);

 private:
  void sweep();

  std::string path_;
  const FileCalls& calls_;
  int lock_ = -1;
};

// Where the files of a checkpoint in the making are: DIR/.step_000120.part.
std::string part_folder(const std::string& folder, int64_t step);
// Writes a rank's file, whose bytes are `image`, into the part folder, which it makes where there is none yet, and
// returns the hashes of its blocks. Throws Failure unwritable_checkpoint; `stop` ends it early, without hashes.
std::vector<uint64_t> write_checkpoint_file(const FileCalls& calls, const std::string& part, const std::string& name,
                                            std::span<const std::byte> image, const std::stop_token& stop);

}  // namespace shardscope
