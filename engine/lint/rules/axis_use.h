#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// What a plan uses a mesh axis for.
struct AxisUse {
  AxisIndex axis = 0;
  std::string name;
  int64_t size = 1;
  bool is_pipeline = false;
  bool splits_rows = false;          // of the inputs: their first dimension
  bool splits_values = false;        // of any array of the program
  bool splits_parameters = false;    // as they are stored
  bool reduces_activations = false;  // sums of forward results, or of gradients of activations, are finished over it
  int level = -1;                    // outermost level of the machine that its groups cross
  // Of collectives over it, and of messages between the stages of a pipeline, in a step, on the stage with the most:
  double seconds = 0;          // hidden or not
  double exposed_seconds = 0;  // in which devices wait for them
  double wire_bytes = 0;       // that a device sends in them
};

// Of each axis of the mesh, in order. A collective over several axes counts for each.
std::vector<AxisUse> axis_uses(const Plan& plan);

}  // namespace shardscope
