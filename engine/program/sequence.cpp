#include "engine/program/sequence.h"

#include <algorithm>

namespace shardscope {

std::string_view name(Purpose purpose) {
  constexpr std::string_view names[] = {"initialise", "train_step", "evaluate"};
  return names[static_cast<int>(purpose)];
}

Sequence make_sequence(Purpose purpose, std::vector<TaskRun> runs, const std::vector<Task>& tasks) {
  Sequence sequence{purpose, std::move(runs), 0};
  for (TaskRun& run : sequence.runs) {
    run.first = sequence.length;
    sequence.length += static_cast<int>(tasks[run.task].steps.size());
  }
  return sequence;
}

StepId step_at(const Sequence& sequence, int position) {
  const auto after = std::ranges::upper_bound(sequence.runs, position, {}, &TaskRun::first);
  const TaskRun& run = *std::prev(after);
  return {run.task, position - run.first};
}

std::optional<int> position_of(const Sequence& sequence, StepId step, int microbatch) {
  for (const TaskRun& run : sequence.runs) {
    if (run.task == step.task && run.microbatch == microbatch) return run.first + step.step;
  }
  return std::nullopt;
}

}  // namespace shardscope
