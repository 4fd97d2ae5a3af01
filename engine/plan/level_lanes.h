#pragma once

#include <string>
#include <vector>

#include "engine/plan/hidden_transfers.h"

namespace shardscope {

// A part of a collective's transfer in a predicted step: exposed while the stage's device waits for a collective, else
// hidden behind what it computes.
struct TransferPart {
  int position = 0;  // of the collective's start, in the stage's main sequence
  bool is_exposed = false;
  TimeSpan span;
};

// The transfers of a stage over one level of the machine, by start, one at a time. Those that the plan's stack lets
// nothing run beside have a lane of their own: "nvlink (blocking)". Those that it hides behind passes
// (transfers_behind_passes()) are on the lane of their level, or, where others use it meanwhile, on one of their own,
// unless they take less than 1e-5 of the step: "nvlink (behind passes)".
struct LevelLane {
  std::string name;
  bool is_behind_passes = false;
  std::vector<TransferPart> parts;
};

struct StageLanes {
  std::vector<LevelLane> lanes;  // from inside out
  std::vector<HiddenTransfer> behind_passes;
};

// By stage. Without lanes where communication cannot be beside anything: on cores that ranks share, unless some of it
// goes between hosts and is hidden.
std::vector<StageLanes> level_lanes(const Plan& plan);

}  // namespace shardscope
