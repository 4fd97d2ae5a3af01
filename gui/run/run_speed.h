#pragma once

#include <QString>

#include "engine/plan/plan.h"

namespace shardscope {

// What all ranks do in a training step, from which its speed follows.
struct StepWork {
  double items = 0;
  bool are_tokens = false;  // else examples
  double flops = 0;
  double peak = 0;  // FLOP a second that the matrix units of all ranks could do, by the machine

  double per_second(double seconds) const { return seconds > 0 ? items / seconds : 0; }
  double share_of_peak(double seconds) const { return seconds > 0 && peak > 0 ? flops / seconds / peak : 0; }
  bool operator==(const StepWork&) const = default;
};
StepWork step_work(const Plan& plan);

}  // namespace shardscope
