#include "engine/program/sequence.h"

#include <algorithm>

#include "engine/base/enum_count.h"

namespace shardscope {

std::string_view name(Purpose purpose) {
  constexpr std::string_view names[] = {"initialise", "train_step", "evaluate"};
  static_assert(std::size(names) == enum_count<Purpose>);
  return names[static_cast<int>(purpose)];
}

Sequence make_sequence(Purpose purpose, std::vector<TaskRun> runs, const std::vector<Task>& tasks, int stage) {
  Sequence sequence{purpose, std::move(runs), 0, stage};
  std::erase_if(sequence.runs, [&](const TaskRun& run) { return tasks[run.task].instructions.empty(); });
  std::vector<int> folded_first(tasks.size(), -1);
  int folded_length = 0;
  for (TaskRun& run : sequence.runs) {
    const int count = static_cast<int>(tasks[run.task].instructions.size());
    int& folded = folded_first[run.task];
    run.is_first = folded < 0;
    if (run.is_first) folded = folded_length, folded_length += count;
    run.first = sequence.length;
    run.folded_first = folded;
    sequence.length += count;
  }
  return sequence;
}

namespace {

// The position behind its last step.
int end_of(const Sequence& sequence, const TaskRun& run) {
  const auto next = std::ranges::upper_bound(sequence.runs, run.first, {}, &TaskRun::first);
  return next == sequence.runs.end() ? sequence.length : next->first;
}

}  // namespace

const TaskRun& run_at(const Sequence& sequence, int position) {
  const auto after = std::ranges::upper_bound(sequence.runs, position, {}, &TaskRun::first);
  return *std::prev(after);
}

InstructionId instruction_at(const std::vector<Task>& tasks, const Sequence& sequence, int position) {
  const TaskRun& run = run_at(sequence, position);
  return {run.task, tasks[run.task].order.index(position - run.first)};
}

int folded_length(const Sequence& sequence) {
  const auto last = std::ranges::find_if(sequence.runs.rbegin(), sequence.runs.rend(), &TaskRun::is_first);
  return last == sequence.runs.rend() ? 0 : last->folded_first + end_of(sequence, *last) - last->first;
}

int folded(const Sequence& sequence, int position) {
  const TaskRun& run = run_at(sequence, position);
  return run.folded_first + position - run.first;
}

int unfolded(const Sequence& sequence, int position) {
  const auto holds = [&](const TaskRun& run) { return run.is_first && run.folded_first <= position; };
  const auto found = std::ranges::find_if(sequence.runs.rbegin(), sequence.runs.rend(), holds);
  return found->first + position - found->folded_first;
}

std::vector<RepeatedInstruction> distinct_instructions(const Sequence& sequence) {
  std::vector<RepeatedInstruction> instructions;
  for (const TaskRun& run : sequence.runs) {
    if (!run.is_first) continue;
    const int count = static_cast<int>(std::ranges::count(sequence.runs, run.task, &TaskRun::task));
    const int end = end_of(sequence, run);
    for (int position = run.first; position < end; ++position) instructions.push_back({position, count});
  }
  return instructions;
}

std::optional<int> position_of(const std::vector<Task>& tasks, const Sequence& sequence, InstructionId instruction,
                               int microbatch) {
  for (const TaskRun& run : sequence.runs) {
    if (run.task == instruction.task && run.microbatch == microbatch)
      return run.first + tasks[run.task].order.place(instruction.index);
  }
  return std::nullopt;
}

int SequenceInstructions::start_of(int position) const {
  const InstructionId at = id(position), whole = whole_collective(*tasks_, at);
  return position + (*tasks_)[at.task].order.place(whole.index) - (*tasks_)[at.task].order.place(at.index);
}

int SequenceInstructions::done_of(int position) const {
  const InstructionId at = id(position);
  const Task& task = (*tasks_)[at.task];
  const std::optional<int> done = done_index(task, at.index);
  return done ? position + task.order.place(*done) - task.order.place(at.index) : position;
}

}  // namespace shardscope
