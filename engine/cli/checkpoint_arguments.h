#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_place.h"
#include "engine/plan/plan.h"
#include "engine/worker/checkpointing.h"

namespace shardscope {

// --checkpoint, --save-every, --keep, --on-checkpoint-error, --resume and --allow-changed-data: of a training, and of
// its ranks.
struct CheckpointArguments {
  std::string folder, resume, on_error = "stop";
  int64_t save_every = 0;
  int keep = 3;
  bool allow_changed_data = false;

  void add_to(CLI::App& command);
  CheckpointOptions options() const;
  // That each rank copies for a checkpoint, by number; empty where none are written.
  std::vector<int64_t> bytes(const Plan& plan) const;
  // As the command line of a rank. `again`: of ranks that are started once more after the first have died; they go on
  // from the newest checkpoint that those have written, if there is any. Throws Failure checkpoint_folder_moved then,
  // where the folder of check() is no longer at its path: what is there is another run's.
  std::vector<std::string> rank_arguments(bool again) const;
  // The step with which these begin. Throws Failure as rank_arguments(), and where there is nothing to go on from.
  int64_t restart_step() const;
  // "step_000120", where ranks that have ended had begun to write it.
  std::vector<std::string> incomplete() const;
  // What can be known before ranks are started, which will read `data`. Throws Failure as Checkpointing::restore() and
  // begin(). Gives what there is to say where a training has nothing left to do.
  std::optional<std::string> check(const Plan& plan, const DataIdentity& data) const;

 private:
  std::string resumed_path(bool again) const;
  void require_folder_in_place() const;

  mutable std::shared_ptr<const HeldFolder> held_;  // from check() on
};

}  // namespace shardscope
