#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/session/step_record.h"

namespace shardscope {

// How exports write what a plan is made of.

// "data,model"; of a send or a receive the pipeline's axis.
std::string axes_text(const Plan& plan, const Instruction& instruction);
// "tokens P('data', None); labels P('data', None)": names and layouts of program values.
std::string values_text(const Plan& plan, std::span<const int> values);
// The op that a step computes, or that needs what it moves; the step's own name where there is none.
std::string op_text(const Plan& plan, const Instruction& instruction);

// When a stage does each step of its main sequence, in nanoseconds from the beginning of the training step, as the plan
// predicts it. Ascending without overlap.
std::vector<PlanStepTime> predicted_times(const Plan& plan, int stage);
int64_t nanoseconds(double seconds);

}  // namespace shardscope
