#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_index.h"
#include "engine/checkpoint/checkpoint_list.h"
#include "engine/checkpoint/checkpoint_names.h"
#include "engine/checkpoint/checkpoint_place.h"
#include "engine/checkpoint/file_calls.h"

namespace shardscope {

// How long a run waits for the end of another that holds its folder: one that was just killed is being torn down.
inline constexpr std::chrono::milliseconds dying_writer_patience{10'000};

// The folder into which one run writes its checkpoints; it is the run's own while this lives. Checkpoints come to be
// beside the old ones, under a hidden name, and get their own when all of them is on the disk:
//
//   DIR/.step_000120.part   every rank: its file, written and synced
//                           rank 0: index.json, synced; the folder, synced
//   DIR/step_000120         renamed; DIR synced
//   DIR/.step_000090.gone   an old one that is no longer to be kept: renamed, then removed
//
// So a process that dies at any moment leaves every checkpoint as it was, and at most hidden folders, which the next
// run removes. One rank (0) has this object; the others write their files into the same folder, which each holds open
// itself. A folder that is moved meanwhile is written to no more (checkpoint_folder_moved), and whatever takes its path
// is never touched.
//
// Removed is only what the program has made: links are never followed, and what else is in a folder of a checkpoint
// stays, as DIR/step_000090.left. What cannot be removed is reported, and removed later. All calls throw Failure
// unwritable_checkpoint.
class CheckpointFolder {
 public:
  // What a user should know, but what ends nothing.
  using Report = std::function<void(const std::string&)>;

  // Makes the folder where there is none. Throws Failure checkpoint_in_use where another run writes there, after
  // waiting for its end for as long as `patience`; bad_checkpoint_folder where the path is that of a checkpoint, or in
  // one.
  CheckpointFolder(std::string path, const FileCalls& calls, Report report = {},
                   std::chrono::milliseconds patience = dying_writer_patience);
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  const HeldFolder& held() const { return *held_; }

  // Throws Failure checkpoint_exists where there are checkpoints that a run from the one of `step` (nothing: that
  // begins) would write over: any that are newer, but those of the steps in `damaged`.
  void require_free_after(std::optional<int64_t> step, const std::vector<int64_t>& damaged) const;
  // For that run: puts the damaged ones that are newer aside, as step_000140.damaged, and removes what a run that died
  // has left. Throws likewise.
  void continue_from(std::optional<int64_t> step, const std::vector<int64_t>& damaged);
  // When every rank has written its file; all hashes are there. Afterwards the newest `keep` remain.
  void complete(const CheckpointIndex& index, int keep);
  bool holds(int64_t step) const;
  // What was begun and cannot be completed is removed.
  void abandon(int64_t step);

 private:
  void lock(std::chrono::milliseconds patience) const;
  void require_files(const CheckpointIndex& index, const HeldFolder& part) const;
  std::vector<int64_t> newer_than(std::optional<int64_t> step) const;
  std::string free_name(const std::string& name) const;
  void rotate(int keep);
  void sweep();
  void remove(const std::string& name, int64_t step);
  void report_once(const std::string& name, const std::string& what);

  const FileCalls& calls_;
  const Report report_;
  std::optional<HeldFolder> held_;
  std::set<std::string> reported_;  // names
};

// Writes a rank's file, whose bytes are `image`, into DIR/.step_000120.part, which it makes where there is none yet,
// and returns the hashes of its blocks. Throws Failure unwritable_checkpoint, checkpoint_folder_moved; `stop` ends it
// early, without hashes.
std::vector<uint64_t> write_checkpoint_file(const FileCalls& calls, const HeldFolder& folder, int64_t step,
                                            const std::string& name, std::span<const std::byte> image,
                                            const std::stop_token& stop);

}  // namespace shardscope
