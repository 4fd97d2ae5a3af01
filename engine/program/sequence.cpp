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

namespace {

// Steps of one microbatch, and how many microbatches there are.
struct Repetition {
  int length = 0;
  int count = 1;
};

Repetition repetition(const Sequence& sequence) {
  Repetition all{sequence.length, 1};
  for (const TaskRun& run : sequence.runs) {
    if (run.microbatch == 1) all.length = std::min(all.length, run.first);
    all.count = std::max(all.count, run.microbatch + 1);
  }
  return all;
}

}  // namespace

int folded_length(const Sequence& sequence) {
  const auto [length, count] = repetition(sequence);
  return sequence.length - (count - 1) * length;
}

int folded(const Sequence& sequence, int position) {
  const auto [length, count] = repetition(sequence);
  return position < count * length ? position % length : position - (count - 1) * length;
}

int unfolded(const Sequence& sequence, int position) {
  const auto [length, count] = repetition(sequence);
  return position < length ? position : position + (count - 1) * length;
}

std::vector<RepeatedStep> distinct_steps(const Sequence& sequence) {
  const auto [length, count] = repetition(sequence);
  std::vector<RepeatedStep> steps;
  for (int position = 0; position < length; ++position) steps.push_back({position, count});
  for (int position = count * length; position < sequence.length; ++position) steps.push_back({position, 1});
  return steps;
}

std::optional<int> position_of(const Sequence& sequence, StepId step, int microbatch) {
  for (const TaskRun& run : sequence.runs) {
    if (run.task == step.task && run.microbatch == microbatch) return run.first + step.step;
  }
  return std::nullopt;
}

}  // namespace shardscope
