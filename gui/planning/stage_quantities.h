#pragma once

#include <array>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// What a plan predicts of each rank of a stage, summed up over its arrays and instructions.
struct StageQuantities {
  double parameter_bytes = 0;
  double state_bytes = 0;                           // of the optimizer
  std::array<double, step_phases> phase_seconds{};  // what is waited before an instruction belongs to its phase
};

// Of each stage. Walks over all instructions: in the background (PlanIndex), or once.
std::vector<StageQuantities> stage_quantities(const Plan& plan);

}  // namespace shardscope
