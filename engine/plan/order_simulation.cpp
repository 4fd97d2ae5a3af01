#include "engine/plan/order_simulation.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>

#include "engine/base/error.h"

namespace shardscope {

namespace {

// Work on a chunk of layers, for any microbatch.
struct ChunkWork {
  Work work = Work::forward;
  int index = 0;  // in the network's order
  auto operator<=>(const ChunkWork&) const = default;
};

class OrderProgram {
 public:
  OrderProgram(const PipelineOrder& order, const std::function<double(const WorkItem&)>& seconds)
      : order_(order), seconds_(seconds), mesh_({{"device", 1}}) {
    program_.stages = static_cast<int>(order.size());
    for (int stage = 0; stage < program_.stages; ++stage) add_tasks(stage);
    for (const auto& [chunk, task] : tasks_) connect(chunk);
    for (int stage = 0; stage < program_.stages; ++stage) add_sequence(stage);
  }

  OrderSimulation run() const {
    const Simulation simulation = simulate(program_, graph_, mesh_, Purpose::train_step, costs_);
    OrderSimulation result{{}, simulation.seconds, simulation.bubble};
    for (int stage = 0; stage < program_.stages; ++stage) {
      std::vector<Simulation::Span>& spans = result.stages.emplace_back();
      for (const TaskRun& run : program_.find(Purpose::train_step, stage)->runs)
        spans.push_back(simulation.stages[stage][run.first + compute_of_[run.task]]);
    }
    return result;
  }

 private:
  ChunkWork chunk_of(int stage, const WorkItem& item) const {
    return {item.work, item.chunk * program_.stages + stage};
  }

  void add_tasks(int stage) {
    for (const WorkItem& item : order_[static_cast<size_t>(stage)]) {
      const auto [entry, added] = tasks_.try_emplace(chunk_of(stage, item), static_cast<int>(program_.tasks.size()));
      if (!added) continue;
      const Phase phase = item.work == Work::forward ? Phase::forward : Phase::backward;
      const std::string name =
          fmt::format("{} of chunk {} on stage {}", shardscope::name(item.work), item.chunk, stage);
      Op& op = graph_.ops.emplace_back();
      op.name = name;
      const OpId id = static_cast<OpId>(graph_.ops.size()) - 1;
      program_.tasks.push_back({name, phase, {{phase, id, Compute{}}}, {}, {}, stage});
      costs_.tasks.push_back({seconds_(item)});
      compute_of_.push_back(0);
    }
  }

  // What gives this work what it needs of another chunk.
  std::optional<ChunkWork> source_of(const ChunkWork& chunk) const {
    std::optional<ChunkWork> source;
    if (chunk.work == Work::forward) source = ChunkWork{Work::forward, chunk.index - 1};
    if (chunk.work == Work::backward || chunk.work == Work::backward_input)
      source = ChunkWork{chunk.work, chunk.index + 1};
    return source && tasks_.contains(*source) ? source : std::nullopt;
  }

  void connect(const ChunkWork& chunk) {
    const std::optional<ChunkWork> source = source_of(chunk);
    if (!source) return;
    const int from = tasks_.at(*source), to = tasks_.at(chunk);
    Task &sender = program_.tasks[from], &receiver = program_.tasks[to];
    if (sender.stage == receiver.stage) return;
    const int channel = static_cast<int>(program_.channels.size()), all = static_cast<int>(order_[0].size());
    program_.channels.push_back({sender.stage, receiver.stage, 0, all});
    sender.instructions.push_back({sender.phase, sender.instructions[compute_of_[from]].op, Send{{}, channel}});
    costs_.tasks[from].push_back(0);
    receiver.instructions.insert(receiver.instructions.begin(),
                                 {receiver.phase, receiver.instructions[0].op, Receive{{}, channel}});
    costs_.tasks[to].insert(costs_.tasks[to].begin(), 0);
    ++compute_of_[to];
  }

  void add_sequence(int stage) {
    std::vector<TaskRun> runs;
    std::map<std::pair<ChunkWork, int>, bool> done;
    for (const WorkItem& item : order_[static_cast<size_t>(stage)]) {
      const ChunkWork chunk = chunk_of(stage, item);
      if (item.work != Work::forward) {
        const Work before = item.work == Work::backward_weight ? Work::backward_input : Work::forward;
        const ChunkWork needed{before, chunk.index};
        if (tasks_.contains(needed) && !done.contains({needed, item.microbatch})) throw too_early(stage, item, before);
      }
      done[{chunk, item.microbatch}] = true;
      runs.push_back({tasks_.at(chunk), item.microbatch});
    }
    program_.sequences.push_back(make_sequence(Purpose::train_step, std::move(runs), program_.tasks, stage));
  }

  static Failure too_early(int stage, const WorkItem& item, Work before) {
    return Failure(Error{"pipeline_cycle",
                         fmt::format("{} of microbatch {} on stage {} waits for its {}, which comes after it",
                                     name(item.work), item.microbatch, stage, name(before)),
                         "pipeline.schedule", "change the order of the schedule"});
  }

  const PipelineOrder& order_;
  const std::function<double(const WorkItem&)>& seconds_;
  Mesh mesh_;
  Graph graph_;
  Program program_;
  InstructionTable<double> costs_;
  std::map<ChunkWork, int> tasks_;
  std::vector<int> compute_of_;  // per task: its instruction that takes time
};

}  // namespace

OrderSimulation simulate_order(const PipelineOrder& order, const std::function<double(const WorkItem&)>& seconds) {
  return OrderProgram(order, seconds).run();
}

}  // namespace shardscope
