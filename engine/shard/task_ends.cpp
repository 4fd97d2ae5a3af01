#include "engine/shard/task_ends.h"

#include <algorithm>

namespace shardscope {

void name_ends(Program& program, std::vector<bool> kept) {
  std::vector<int> maker(program.values.size(), -1);
  for (int t = 0; t < static_cast<int>(program.tasks.size()); ++t) {
    Task& task = program.tasks[t];
    for (const Instruction& instruction : task.instructions) {
      for (int output : instruction.results()) maker[output] = t;
    }
    for (const Instruction& instruction : task.instructions) {
      for (int input : instruction.operands()) {
        if (maker[input] == t) continue;
        kept[input] = true;
        task.inputs.push_back(input);
      }
    }
    std::ranges::sort(task.inputs);
    task.inputs.erase(std::unique(task.inputs.begin(), task.inputs.end()), task.inputs.end());
  }
  for (int v = 0; v < static_cast<int>(maker.size()); ++v) {
    if (kept[v] && maker[v] >= 0) program.tasks[maker[v]].outputs.push_back(v);
  }
}

void list_groups(Program& program) {
  for (const Task& task : program.tasks) {
    for (const Instruction& instruction : task.instructions) {
      bool listed = !is_collective(instruction.kind()) ||
                    std::ranges::find(program.groups, instruction.axes()) != program.groups.end();
      if (!listed) program.groups.push_back(instruction.axes());
    }
  }
}

}  // namespace shardscope
