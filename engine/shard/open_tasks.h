#pragma once

#include <compare>
#include <map>
#include <optional>
#include <vector>

#include "engine/program/pipeline_order.h"
#include "engine/program/program.h"
#include "engine/shard/staged_instructions.h"

namespace shardscope {

// What a task is in a step: `begin` and `metrics` stand before and after all microbatches.
enum class TaskPart : uint8_t { begin, forward, backward, backward_weight, metrics, update, initialise };

struct TaskKey {
  TaskPart part = TaskPart::forward;
  int stage = 0;
  int chunk = 0;
  auto operator<=>(const TaskKey&) const = default;
};

bool is_repeated(TaskPart part);  // for each microbatch

// The tasks of a program while lowering fills them, several at a time: instructions can still be put into each.
class OpenTasks {
 public:
  struct OpenTask {
    TaskKey key;
    Phase phase = Phase::forward;
    std::vector<Instruction> main;
    StagedInstructions opening;    // what it uses of other tasks, in front
    StagedInstructions closing;    // behind
    StagedInstructions before_op;  // before the op at hand
  };

  explicit OpenTasks(const PipelineShape& shape) : shape_(shape) {}

  int open(const TaskKey& key);  // the task, made if there is none
  OpenTask& operator[](int task) { return tasks_[static_cast<size_t>(task)]; }
  // Behind the last instruction that makes one of these values; at the end, where they are not made there.
  void insert_behind(int task, const std::vector<int>& values, Instruction instruction);

  // Each collective's start is followed by its done.
  std::vector<Task> close();
  // For each purpose that the tasks serve, what each stage runs when. Without an order microbatches run one after the
  // other.
  std::vector<Sequence> sequences(const std::vector<Task>& tasks, const PipelineOrder& order) const;

 private:
  std::optional<int> find(const TaskKey& key) const;
  std::string name(const TaskKey& key) const;

  PipelineShape shape_;
  std::vector<OpenTask> tasks_;
  std::map<TaskKey, int> by_key_;
};

}  // namespace shardscope
