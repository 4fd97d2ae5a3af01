#pragma once

#include <string>
#include <vector>

#include "engine/program/instruction.h"

namespace shardscope {

// A straight-line program with named inputs and outputs.
struct Task {
  std::string name;  // "forward", "backward", "update"
  Phase phase = Phase::forward;
  std::vector<Instruction> instructions;
  std::vector<int> inputs;   // program values that it reads and does not make, ascending
  std::vector<int> outputs;  // that it makes and other tasks read, or that stay when the sequence is over, ascending
  int stage = 0;             // of the pipeline: whose devices run it
};

}  // namespace shardscope
