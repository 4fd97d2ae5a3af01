#include "engine/program/task.h"

namespace shardscope {

std::optional<int> done_index(const Task& task, int start) {
  if (!task.instructions[static_cast<size_t>(start)].as<CollectiveStart>()) return std::nullopt;
  for (int index = start + 1; index < task.size(); ++index) {
    const CollectiveDone* done = task.instructions[static_cast<size_t>(index)].as<CollectiveDone>();
    if (done && done->start == start) return index;
  }
  return std::nullopt;
}

InstructionId whole_collective(const std::vector<Task>& tasks, InstructionId id) {
  const CollectiveDone* done = tasks[id.task].instructions[id.index].as<CollectiveDone>();
  return done ? InstructionId{id.task, done->start} : id;
}

}  // namespace shardscope
