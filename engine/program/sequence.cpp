#include "engine/program/sequence.h"

#include <algorithm>

namespace shardscope {

std::string_view name(Purpose purpose) {
  constexpr std::string_view names[] = {"initialise", "train_step", "evaluate"};
  return names[static_cast<int>(purpose)];
}

Sequence make_sequence(Purpose purpose, std::vector<TaskRun> runs, const std::vector<Task>& tasks, int stage) {
  Sequence sequence{purpose, std::move(runs), 0, stage};
  std::erase_if(sequence.runs, [&](const TaskRun& run) { return tasks[run.task].steps.empty(); });
  std::vector<int> folded_first(tasks.size(), -1);
  int folded_length = 0;
  for (TaskRun& run : sequence.runs) {
    const int steps = static_cast<int>(tasks[run.task].steps.size());
    int& folded = folded_first[run.task];
    if (folded < 0) folded = folded_length, folded_length += steps;
    run.first = sequence.length;
    run.folded_first = folded;
    sequence.length += steps;
  }
  return sequence;
}

namespace {

// The first run of each task, in order.
std::vector<TaskRun> first_runs(const Sequence& sequence) {
  std::vector<TaskRun> firsts;
  for (const TaskRun& run : sequence.runs) {
    if (firsts.empty() || run.folded_first > firsts.back().folded_first) firsts.push_back(run);
  }
  return firsts;
}

}  // namespace

bool is_first_run(const Sequence& sequence, const TaskRun& run) {
  return std::ranges::find(sequence.runs, run.task, &TaskRun::task)->first == run.first;
}

const TaskRun& run_at(const Sequence& sequence, int position) {
  const auto after = std::ranges::upper_bound(sequence.runs, position, {}, &TaskRun::first);
  return *std::prev(after);
}

StepId step_at(const Sequence& sequence, int position) {
  const TaskRun& run = run_at(sequence, position);
  return {run.task, position - run.first};
}

int folded_length(const Sequence& sequence) {
  int length = 0;
  for (const TaskRun& run : sequence.runs) length = std::max(length, run.folded_first);
  const auto last = std::ranges::find(sequence.runs, length, &TaskRun::folded_first);
  if (last == sequence.runs.end()) return 0;
  const auto next = std::next(last);
  return length + (next == sequence.runs.end() ? sequence.length : next->first) - last->first;
}

int folded(const Sequence& sequence, int position) {
  const TaskRun& run = run_at(sequence, position);
  return run.folded_first + position - run.first;
}

int unfolded(const Sequence& sequence, int position) {
  const std::vector<TaskRun> firsts = first_runs(sequence);
  const TaskRun& run = *std::prev(std::ranges::upper_bound(firsts, position, {}, &TaskRun::folded_first));
  return run.first + position - run.folded_first;
}

std::vector<RepeatedStep> distinct_steps(const Sequence& sequence) {
  std::vector<RepeatedStep> steps;
  for (const TaskRun& first : first_runs(sequence)) {
    const auto runs_it = [&](const TaskRun& run) { return run.task == first.task; };
    const int count = static_cast<int>(std::ranges::count_if(sequence.runs, runs_it));
    const auto next = std::ranges::upper_bound(sequence.runs, first.first, {}, &TaskRun::first);
    const int end = next == sequence.runs.end() ? sequence.length : next->first;
    for (int position = first.first; position < end; ++position) steps.push_back({position, count});
  }
  return steps;
}

std::optional<int> position_of(const Sequence& sequence, StepId step, int microbatch) {
  for (const TaskRun& run : sequence.runs) {
    if (run.task == step.task && run.microbatch == microbatch) return run.first + step.step;
  }
  return std::nullopt;
}

}  // namespace shardscope
