#include "engine/plan/value_lives.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/graph/reported_values.h"

namespace shardscope {

namespace {

// The runs of a task in a sequence.
struct TaskRuns {
  std::vector<int> runs;  // indices into Sequence::runs, by microbatch
  int last_run = -1;
  int first = 0;  // folded
  int last = -1;
};

// While a value is kept, by as many microbatches at a time as `slot_count`, its maker may run for another one (or its
// last user, from which it is), and so may all between `first` and `last`, positions of the folded sequence.
struct Reach {
  int slot_count = 1;
  bool maker_runs = false, user_runs = false;
  int first = 0, last = -1;
};

int most_at_a_time(const std::vector<std::pair<int, int>>& spans) {
  std::vector<int> begins, ends;
  for (const auto& [begin, end] : spans) begins.push_back(begin), ends.push_back(end);
  std::ranges::sort(begins);
  std::ranges::sort(ends);
  size_t most = 0;
  for (size_t begun = 0, ended = 0; begun < begins.size(); ++begun) {
    while (ends[ended] < begins[begun]) ++ended;
    most = std::max(most, begun + 1 - ended);
  }
  return static_cast<int>(most);
}

class Lives {
 public:
  Lives(const Program& program, const Graph& graph, int stage)
      : program_(program),
        graph_(graph),
        sequence_(program.main(stage)),
        tasks_(program.tasks.size()),
        lives_(program.values.size()),
        uses_(program.values.size()),
        made_in_(program.values.size(), -1),
        reported_(graph.values.size()) {
    for (const auto& [name, value] : reported_values(graph)) reported_[static_cast<size_t>(value)] = true;
    for (int r = 0; r < static_cast<int>(sequence_.runs.size()); ++r) {
      const TaskRun& run = sequence_.runs[r];
      TaskRuns& task = tasks_[run.task];
      if (run.is_first) order_.push_back(run.task);
      if (std::ssize(task.runs) <= run.microbatch) task.runs.resize(static_cast<size_t>(run.microbatch) + 1);
      task.runs[static_cast<size_t>(run.microbatch)] = task.last_run = r;
      task.first = run.folded_first;
      task.last = run.folded_first + static_cast<int>(program.tasks[run.task].instructions.size()) - 1;
    }
    length_ = folded_length(sequence_);
  }

  std::vector<ValueLife> run() {
    for (int task : order_) look_at(task);
    for (int task : order_) {
      for (int value : program_.tasks[task].outputs) {
        if (is_reported(value) || uses_[value].empty() || (uses_[value].size() == 1 && uses_[value].front() == task)) {
          lives_[value].last = length_ - 1;
        }
      }
    }
    for (size_t v = 0; v < lives_.size(); ++v) {
      if (lives_[v].last < 0) continue;
      if (is_source(program_.values[v], graph_)) {
        lives_[v].first = 0;
        if (is_input(static_cast<int>(v))) lives_[v].slot_count = reach(static_cast<int>(v)).slot_count;
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

  // Read when the step is done, whatever else uses it before.
  bool is_reported(int value) const { return reported_[static_cast<size_t>(program_.values[value].graph_value)]; }

  void look_at(int task) {
    accumulates_.resize(lives_.size());
    const Task& own = program_.tasks[task];
    for (int place = 0; place < own.size(); ++place) {
      const Instruction& instruction = own.issued(place);
      const int position = tasks_[task].first + place;
      for (int value : instruction.operands()) use(value, task, position);
      if (const CollectiveDone* done = instruction.as<CollectiveDone>()) {
        for (int value : own.instructions[done->start].operands()) use(value, task, position);
        for (int value : done->results) lives_[value].last = std::max(lives_[value].last, position);
        continue;
      }
      for (int value : instruction.destinations()) {
        lives_[value].first = lives_[value].last = position;
        made_in_[value] = task;
        accumulates_[value] = accumulates(instruction, graph_);
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
        last = std::max(last, each && is_repeated(task) ? runs[m] : tasks_[task].last_run);
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

  // Beyond the tasks that make and use it, to those that run in between, whole.
  void widen(int value) {
    const std::vector<int>& uses = uses_[value];
    const int maker = made_in_[value];
    if (uses.empty() || (uses.size() == 1 && uses.front() == maker)) return;
    ValueLife& life = lives_[value];
    const Reach reached = reach(value);
    if (is_repeated(maker)) life.slot_count = reached.slot_count;
    if (reached.maker_runs) life.first = tasks_[maker].first;
    if (reached.user_runs) life.last = tasks_[uses.back()].last;
    life.first = std::min(life.first, reached.first);
    life.last = std::max(life.last, reached.last);
  }

  // The same for all values that a task makes for the same others.
  const Reach& reach(int value) {
    const int maker = made_in_[value], user = uses_[value].back();
    const auto [entry, added] = reaches_.try_emplace({maker, uses_[value]});
    Reach& found = entry->second;
    if (!added) return found;
    found.first = length_;
    const std::vector<std::pair<int, int>> list = spans(value);
    found.slot_count = most_at_a_time(list);
    for (const auto& [begin, end] : list) {
      for (int r = begin + 1; r < end; ++r) {
        const int task = sequence_.runs[r].task;
        found.maker_runs |= task == maker;
        found.user_runs |= task == user;
        found.first = std::min(found.first, tasks_[task].first);
        found.last = std::max(found.last, tasks_[task].last);
      }
    }
    return found;
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
  std::vector<bool> reported_;                                 // per graph value
  std::map<std::pair<int, std::vector<int>>, Reach> reaches_;  // by maker and uses
  int length_ = 0;
};

}  // namespace

std::vector<ValueLife> value_lives(const Program& program, const Graph& graph, int stage) {
  return Lives(program, graph, stage).run();
}

}  // namespace shardscope
