#include "engine/shard/open_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace shardscope {

namespace {

Phase phase_of(TaskPart part) {
  switch (part) {
    case TaskPart::begin:
    case TaskPart::forward:
    case TaskPart::metrics: return Phase::forward;
    case TaskPart::backward:
    case TaskPart::backward_weight: return Phase::backward;
    case TaskPart::update: return Phase::update;
    case TaskPart::initialise: break;
  }
  return Phase::initialise;
}

TaskPart part_of(Work work) {
  switch (work) {
    case Work::forward: return TaskPart::forward;
    case Work::backward:
    case Work::backward_input: return TaskPart::backward;
    case Work::backward_weight: break;
  }
  return TaskPart::backward_weight;
}

// The blocking form: each start is followed by its done.
std::vector<Instruction> with_dones(std::vector<Instruction> instructions) {
  std::vector<Instruction> all;
  all.reserve(instructions.size() + std::ranges::count_if(instructions, [](const Instruction& instruction) {
                return is_collective(instruction.kind());
              }));
  for (Instruction& instruction : instructions) {
    all.push_back(std::move(instruction));
    if (const CollectiveStart* start = all.back().as<CollectiveStart>()) {
      CollectiveDone done{start->kind, static_cast<int>(all.size()) - 1, start->destinations};
      all.push_back({all.back().phase, all.back().op, std::move(done)});
    }
  }
  return all;
}

PipelineOrder one_after_the_other(const PipelineShape& shape) {
  PipelineOrder order(1);
  for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
    order[0].push_back({Work::forward, microbatch});
    order[0].push_back({Work::backward, microbatch});
  }
  return order;
}

}  // namespace

bool is_repeated(TaskPart part) {
  return part == TaskPart::forward || part == TaskPart::backward || part == TaskPart::backward_weight;
}

int OpenTasks::open(const TaskKey& key) {
  const auto [entry, added] = by_key_.try_emplace(key, static_cast<int>(tasks_.size()));
  if (added) tasks_.push_back({key, phase_of(key.part), {}, {}, {}, {}});
  return entry->second;
}

void OpenTasks::insert_behind(int task, const std::vector<int>& values, Instruction instruction) {
  std::vector<Instruction>& main = tasks_[static_cast<size_t>(task)].main;
  const auto makes_one = [&](const Instruction& earlier) {
    return std::ranges::find_first_of(earlier.destinations(), values) != earlier.destinations().end();
  };
  const auto last = std::find_if(main.rbegin(), main.rend(), makes_one);
  main.insert(last == main.rend() ? main.end() : last.base(), std::move(instruction));
}

std::vector<Task> OpenTasks::close() {
  std::vector<Task> tasks;
  for (OpenTask& open : tasks_) {
    std::vector<Instruction> instructions;
    open.opening.append_to(instructions);
    std::ranges::move(open.main, std::back_inserter(instructions));
    open.closing.append_to(instructions);
    tasks.push_back({name(open.key), open.phase, with_dones(std::move(instructions)), {}, {}, open.key.stage});
  }
  return tasks;
}

std::vector<Sequence> OpenTasks::sequences(const std::vector<Task>& tasks, const PipelineOrder& order) const {
  const PipelineOrder& wanted = order.empty() ? one_after_the_other(shape_) : order;
  const bool trains = std::ranges::any_of(
      tasks_, [](const OpenTask& task) { return task.phase == Phase::backward || task.phase == Phase::update; });
  std::vector<Sequence> all;
  for (int stage = 0; stage < shape_.stages; ++stage) {
    const auto runs_of = [&](std::initializer_list<TaskPart> parts) {
      std::vector<TaskRun> runs;
      const auto is_part = [&](TaskPart part) { return std::ranges::find(parts, part) != parts.end(); };
      const auto add = [&](const TaskKey& key, int microbatch = 0) {
        const std::optional<int> task = is_part(key.part) ? find(key) : std::nullopt;
        if (task) runs.push_back({*task, microbatch});
      };
      add({TaskPart::begin, stage});
      for (const WorkItem& item : wanted[static_cast<size_t>(stage)]) {
        add({part_of(item.work), stage, item.chunk}, item.microbatch);
      }
      for (TaskPart part : {TaskPart::metrics, TaskPart::update, TaskPart::initialise}) add({part, stage});
      return runs;
    };
    const auto add = [&](Purpose purpose, std::initializer_list<TaskPart> parts) {
      all.push_back(make_sequence(purpose, runs_of(parts), tasks, stage));
    };
    using enum TaskPart;
    add(Purpose::initialise, {initialise});
    if (trains) add(Purpose::train_step, {begin, forward, backward, backward_weight, metrics, update});
    add(Purpose::evaluate, {begin, forward, metrics});
  }
  return all;
}

std::optional<int> OpenTasks::find(const TaskKey& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(found->second);
}

std::string OpenTasks::name(const TaskKey& key) const {
  constexpr const char* parts[] = {"begin",   "forward", "backward",  "backward of weights",
                                   "metrics", "update",  "initialise"};
  const std::string part = parts[static_cast<int>(key.part)];
  if (shape_.stages == 1) return part;
  if (shape_.chunks == 1 || !is_repeated(key.part)) return fmt::format("{} of stage {}", part, key.stage);
  return fmt::format("{} of stage {}, chunk {}", part, key.stage, key.chunk);
}

}  // namespace shardscope
