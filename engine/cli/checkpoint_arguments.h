#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/worker/checkpointing.h"

namespace shardscope {

// --checkpoint, --save-every, --keep, --on-checkpoint-error and --resume: of a training, and of its ranks.
struct CheckpointArguments {
  std::string folder, resume, on_error = "stop";
  int64_t save_every = 0;
  int keep = 3;

  void add_to(CLI::App& command);
  CheckpointOptions options() const;
  // As the command line of a rank. `again`: of a run that is started once more after its ranks have died; it goes on
  // from the newest checkpoint that it has written itself, if it has any.
  std::vector<std::string> rank_arguments(bool again = false) const;
  // What can be known before ranks are started. Throws Failure as Checkpointing::restore() and begin().
  void check(const Plan& plan) const;
};

}  // namespace shardscope
