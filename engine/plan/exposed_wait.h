#pragma once

#include <optional>
#include <string>

#include "engine/plan/plan.h"

namespace shardscope {

// Why a device waits for a collective in a predicted step, and what would hide it.
//
// Example: reduce-scatter of what a product makes, 3 s, before a norm that reads it. It waits 3 s; operand: the
// product; user: the norm. A product of 2 s for another layer's weights depends on neither: independent 2 s.
struct ExposedWait {
  double seconds = 0;   // so long the device waits
  double transfer = 0;  // so long the transfer takes, on its stream
  std::string stream;
  // Positions in the stage's main sequence, or -1: of the last instruction of the task that the collective depends on;
  // of the first that depends on it; of the longest computation of the task that does neither.
  int operand = -1, user = -1, longest = -1;
  double independent = 0;  // s, of all computation of the task that does neither
  // What keeps computation from running beside it: "stack.overlap.tensor", "machine.overlap"; empty: nothing does.
  std::string setting;
};

// Of a collective, by the position of its start or done; nothing for other instructions and where none waits.
std::optional<ExposedWait> exposed_wait(const Plan& plan, int stage, int position);

}  // namespace shardscope
