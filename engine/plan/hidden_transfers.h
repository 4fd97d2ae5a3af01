#pragma once

#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// A part of a collective's transfer that the plan's stack runs beside a pass (hide_behind_passes()), as it is drawn.
struct HiddenTransfer {
  int position = 0;            // of the collective's start, in the stage's main sequence
  bool of_parameters = false;  // behind a forward pass; else of gradients, behind a backward one
  TimeSpan span;
};

// Of a stage, by start; those of one collective are as long as what the plan hides of it. Gradients are reduced up to
// the end of the last microbatch's backward pass. Parameters are gathered from the beginning of the first microbatch's
// forward pass on, which is where those of the step before are in a step like it. What runs on a link at the same time
// slows none of it down.
//
// Example: a backward pass of two chunks at 4 to 6 s and 7 to 9 s, 3 s of gradients: at 5 to 6 s and 7 to 9 s.
std::vector<HiddenTransfer> transfers_behind_passes(const Plan& plan, int stage);

// Seconds of a collective, by its start, which the stack hides behind a pass, beside Plan::instruction_seconds.
double hidden_behind_passes(const Plan& plan, InstructionId start);
double hidden_behind_passes(const Plan& plan, int stage, int position);

// "the last microbatch's backward pass": what hides such a transfer.
const char* pass_text(bool of_parameters);

}  // namespace shardscope
