#pragma once

#include <cstddef>
#include <vector>

#include "engine/program/instruction.h"

namespace shardscope {

// Reshards that wait for others of their kind: stage i of every array's path runs before stage i + 1 of any. A stage is
// some slices and the collective after them.
class StagedInstructions {
 public:
  void add(size_t stage, Instruction instruction);
  // Appends all, and forgets them. Collectives of a stage that share kind and axes become one. Permutes go where their
  // layouts say, each its own way.
  void append_to(std::vector<Instruction>& instructions);

 private:
  std::vector<std::vector<Instruction>> stages_;
};

}  // namespace shardscope
