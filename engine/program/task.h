#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program/instruction.h"
#include "engine/program/issue_order.h"

namespace shardscope {

// A graph of instructions with named inputs and outputs, listed such that each comes behind those that it depends on
// (dependencies.h), and the order in which every rank of the stage issues them, a result of scheduling.
struct Task {
  std::string name;  // "forward", "backward", "update"
  Phase phase = Phase::forward;
  std::vector<Instruction> instructions;
  std::vector<int> inputs;   // program values that it reads and does not make, ascending
  std::vector<int> outputs;  // that it makes and other tasks read, or that stay when the sequence is over, ascending
  int stage = 0;             // of the pipeline: whose devices run it
  IssueOrder order = {};

  int size() const { return static_cast<int>(instructions.size()); }
  // The one that is issued as the place-th.
  const Instruction& issued(int place) const { return instructions[static_cast<size_t>(order.index(place))]; }
};

// Of a collective's start the index of its done; nothing where there is none behind it.
std::optional<int> done_index(const Task& task, int start);
// Of a done that of its start; of others their own: by which lists and views name a collective.
InstructionId whole_collective(const std::vector<Task>& tasks, InstructionId id);

}  // namespace shardscope
