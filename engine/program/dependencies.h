#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/program/arena_layout.h"
#include "engine/program/program.h"

namespace shardscope {

// Why one instruction of a task comes behind another one.
enum class DependencyKind : uint8_t {
  data,      // it uses what that one defines, or is the done of that start
  in_place,  // it overwrites a stored array, or an operand that its op must overwrite, which that one reads
  buffer     // it writes to a buffer of the arena whose content that one reads or defines
};
std::string_view name(DependencyKind kind);

struct Dependency {
  int before = -1, behind = -1;  // indices in the task
  DependencyKind kind = DependencyKind::data;
};

// What the order of a task's instructions is bound to; any order that respects it gives the same bits. A collective
// reads its operands until it is done and may write its destinations from its start on.
//
// Example: start all-gather(w) -> v . done: v . update of w in place: the done waits for the start (data), the update
// for the done (in_place).
class Dependencies {
 public:
  Dependencies(const Program& program, const Graph& graph);

  // Of a task, by what it computes: data and in_place.
  std::vector<Dependency> of(int task);
  // Further ones, by where an arena that was packed for the task's order has its values: buffer.
  std::vector<Dependency> of(int task, const ArenaLayout& arena) const;

 private:
  // The value whose memory a result must overwrite; -1: none.
  int overwritten(const Instruction& instruction, size_t result) const;

  const Program& program_;
  const Graph& graph_;
  std::vector<InstructionId> maker_;  // per program value; task -1: a source
  std::vector<int> stored_before_;    // per graph value that a state takes on: the program value that stores the state
  std::vector<int> overwriter_;       // per program value, of the task at hand: index, or -1
};

}  // namespace shardscope
