#include "engine/plan/value_lives.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

// The runs of a task in a sequence.
struct TaskRuns {
  std::vector<int> runs;  // indices into Sequence::runs, by microbatch
  int first = 0;          // folded
  int last = -1;
};

class Lives {
 public:
  Lives(const Program& program, const Graph& graph, int stage)
      : program_(program),
        graph_(graph),
        sequence_(program.main(stage)),
        tasks_(program.tasks.size()),
        lives_(program.values.size()),
        uses_(program.values.size()),
        made_in_(program.values.size(), -1) {
    for (int r = 0; r < static_cast<int>(sequence_.runs.size()); ++r) {
      const TaskRun& run = sequence_.runs[r];
      TaskRuns& task = tasks_[run.task];
      if (task.runs.empty()) order_.push_back(run.task);
      task.runs.push_back(r);
      task.first = run.folded_first;
      task.last = run.folded_first + static_cast<int>(program.tasks[run.task].steps.size()) - 1;
    }
    length_ = folded_length(sequence_);
  }

  std::vector<ValueLife> run() {
    for (int task : order_) look_at(task);
    for (int task : order_) {
      for (int value : program_.tasks[task].outputs) {
        if (uses_[value].empty() || (uses_[value].size() == 1 && uses_[value].front() == task)) {
          lives_[value].last = length_ - 1;
        }
      }
    }
    for (size_t v = 0; v < lives_.size(); ++v) {
      if (lives_[v].last < 0) continue;
      if (is_source(program_.values[v], graph_)) {
        lives_[v].first = 0;
        lives_[v].slot_count = is_input(static_cast<int>(v)) ? keepers(static_cast<int>(v)) : 1;
      } else if (accumulates_[v]) {
        lives_[v].first = 0;
      } else {
        widen(static_cast<int>(v));
      }
    }
    return std::move(lives_);
  }

 private:
  bool is_input(int value) const { return graph_.values[program_.values[value].graph_value].kind == ValueKind::input; }

  void look_at(int task) {
    accumulates_.resize(lives_.size());
    const std::vector<Step>& steps = program_.tasks[task].steps;
    for (int s = 0; s < static_cast<int>(steps.size()); ++s) {
      const int position = tasks_[task].first + s;
      for (int value : steps[s].inputs) use(value, task, position);
      for (int value : steps[s].outputs) {
        lives_[value].first = lives_[value].last = position;
        made_in_[value] = task;
        accumulates_[value] = steps[s].kind == StepKind::compute && graph_.ops[steps[s].op].definition->accumulates();
      }
    }
  }

  void use(int value, int task, int position) {
    lives_[value].last = std::max(lives_[value].last, position);
    if (uses_[value].empty() || uses_[value].back() != task) uses_[value].push_back(task);
  }

  bool is_repeated(int task) const { return tasks_[task].runs.size() > 1; }

  // From which run to which each microbatch, or the step, keeps a value.
  std::vector<std::pair<int, int>> spans(int value) const {
    std::vector<std::pair<int, int>> list;
    const int maker = made_in_[value] >= 0 ? made_in_[value] : uses_[value].front();
    const bool each = is_repeated(maker);
    for (size_t m = 0; m < tasks_[maker].runs.size(); ++m) {
      int last = tasks_[maker].runs[m];
      for (int task : uses_[value]) {
        const std::vector<int>& runs = tasks_[task].runs;
        last = std::max(last, each && is_repeated(task) ? runs[m] : runs.back());
      }
      list.emplace_back(made_in_[value] >= 0 ? tasks_[maker].runs[m] : begin_of(static_cast<int>(m)), last);
    }
    return list;
  }

  // Inputs are there before the first task of their microbatch.
  int begin_of(int microbatch) const {
    const auto first = std::ranges::find(sequence_.runs, microbatch, &TaskRun::microbatch);
    return static_cast<int>(first - sequence_.runs.begin());
  }

  // Microbatches come and go in order.
  int keepers(int value) const {
    if (uses_[value].empty()) return 1;
    const std::vector<std::pair<int, int>> list = spans(value);
    int most = 1;
    for (size_t m = 0, gone = 0; m < list.size(); ++m) {
      while (list[gone].second < list[m].first) ++gone;
      most = std::max(most, static_cast<int>(m - gone) + 1);
    }
    return most;
  }

  // Beyond the tasks that make and use it, to those that run in between, whole.
  void widen(int value) {
    const std::vector<int>& uses = uses_[value];
    const int maker = made_in_[value];
    if (uses.empty() || (uses.size() == 1 && uses.front() == maker)) return;
    ValueLife& life = lives_[value];
    const int user = uses.back();
    if (is_repeated(maker)) life.slot_count = keepers(value);
    const auto [begin, end] = reach(value);
    if (begin.first) life.first = tasks_[maker].first;
    if (end.first) life.last = tasks_[user].last;
    life.first = std::min(life.first, begin.second);
    life.last = std::max(life.last, end.second);
  }

  // What else runs while the value is kept: whether the maker (of another microbatch) and how far forward, and whether
  // the last user and how far backward.
  std::pair<std::pair<bool, int>, std::pair<bool, int>> reach(int value) {
    const int maker = made_in_[value], user = uses_[value].back();
    const auto key = std::pair(maker, uses_[value]);
    const auto known = reaches_.find(key);
    if (known != reaches_.end()) return known->second;
    bool again = false, still = false;
    int first = length_, last = -1;
    for (const auto& [begin, end] : spans(value)) {
      for (int r = begin + 1; r < end; ++r) {
        const int task = sequence_.runs[r].task;
        again |= task == maker;
        still |= task == user;
        first = std::min(first, tasks_[task].first);
        last = std::max(last, tasks_[task].last);
      }
    }
    return reaches_[key] = {{again, first}, {still, last}};
  }

  const Program& program_;
  const Graph& graph_;
  const Sequence& sequence_;
  std::vector<TaskRuns> tasks_;
  std::vector<int> order_;  // tasks, as they are first run
  std::vector<ValueLife> lives_;
  std::vector<std::vector<int>> uses_;  // tasks, in that order
  std::vector<int> made_in_;            // -1: a source
  std::vector<bool> accumulates_;
  std::map<std::pair<int, std::vector<int>>, std::pair<std::pair<bool, int>, std::pair<bool, int>>> reaches_;
  int length_ = 0;
};

}  // namespace

std::vector<ValueLife> value_lives(const Program& program, const Graph& graph, int stage) {
  return Lives(program, graph, stage).run();
}

}  // namespace shardscope
