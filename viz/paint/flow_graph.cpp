#include "viz/paint/flow_graph.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "viz/paint/flow_alike.h"
#include "viz/paint/flow_layout.h"
#include "viz/paint/network_layers.h"

namespace shardscope {
namespace {

// Steps that follow each other in a task and are of one layer.
struct Segment {
  int task = -1;
  int layer = -1;
  int first = 0, end = 0;  // steps of the task
};

class GraphMaker {
 public:
  GraphMaker(const Plan& plan, int stage, bool fold) : plan_(plan), program_(plan.program), fold_(fold), layers_(plan) {
    for (const Task& task : program_.tasks) graph_.node_of.tasks.emplace_back(task.instructions.size(), -1);
    runs_.resize(program_.tasks.size(), 0);
    for (const TaskRun& run : program_.main(stage).runs) {
      if (runs_[static_cast<size_t>(run.task)]++ == 0) cut(run.task);
    }
  }

  FlowGraph run() {
    for (const std::vector<size_t>& same : alike()) add_lane(same);
    add_edges();
    return std::move(graph_);
  }

 private:
  const std::vector<Instruction>& steps(int task) const {
    return program_.tasks[static_cast<size_t>(task)].instructions;
  }

  void cut(int task) {
    for (int s = 0; s < std::ssize(steps(task)); ++s) {
      const InstructionId whole = whole_collective(program_.tasks, {task, s});
      const int layer = layers_.of(steps(task)[static_cast<size_t>(whole.index)]);
      if (segments_.empty() || segments_.back().task != task || segments_.back().layer != layer)
        segments_.push_back({task, layer, s, s});
      segments_.back().end = s + 1;
    }
  }

  // Segments of layers that are alike, by the first of each; a layer has one of them.
  std::vector<std::vector<size_t>> alike() const {
    std::vector<std::vector<size_t>> all;
    using Alike = std::tuple<int, std::vector<std::string>, int>;
    std::map<Alike, size_t> known;  // by task, words, and the number of such in the layer
    std::map<Alike, int> seen;      // by task, words and layer
    for (size_t s = 0; s < segments_.size(); ++s) {
      const auto& [task, layer, first, end] = segments_[s];
      size_t lane = all.size();
      if (fold_ && layer >= 0) {
        std::vector<std::string> words = alike_words(plan_, task, first, end);
        const int repeats = seen[{task, words, layer}]++;
        lane = known.emplace(std::tuple(task, std::move(words), repeats), lane).first->second;
      }
      if (lane == all.size()) all.emplace_back();
      all[lane].push_back(s);
    }
    return all;
  }

  void add_lane(const std::vector<size_t>& same) {
    const Segment& first = segments_[same.front()];
    FlowLane lane;
    lane.task = first.task;
    lane.phase = program_.tasks[static_cast<size_t>(first.task)].phase;
    lane.first = static_cast<int>(graph_.nodes.size());
    for (const size_t segment : same)
      if (first.layer >= 0) lane.layers.push_back(segments_[segment].layer);
    std::ranges::sort(lane.layers);
    for (int s = 0; s < first.end - first.first; ++s) {
      const Instruction& shown = steps(first.task)[static_cast<size_t>(first.first + s)];
      if (const CollectiveDone* done = shown.as<CollectiveDone>()) {
        add_done(same, s, graph_.node_of[{first.task, done->start}]);
        continue;
      }
      FlowNode node;
      node.kind = shown.kind();
      node.phase = shown.phase;
      node.lane = static_cast<int>(graph_.lanes.size());
      node.runs = runs_[static_cast<size_t>(first.task)];
      for (const size_t segment : same) {
        const InstructionId id{first.task, segments_[segment].first + s};
        const Instruction& instruction = steps(id.task)[static_cast<size_t>(id.index)];
        node.steps.push_back(id);
        node.seconds += node.runs * plan_.instruction_seconds[id];
        node.wire_bytes += node.runs * instruction.wire_bytes();
        node.flops += node.runs * instruction.flops();
        graph_.node_of[id] = static_cast<int>(graph_.nodes.size());
      }
      lane.seconds += node.seconds;
      lane.wire_bytes += node.wire_bytes;
      graph_.nodes.push_back(std::move(node));
    }
    lane.end = static_cast<int>(graph_.nodes.size());
    graph_.lanes.push_back(lane);
  }

  // A done is part of the node of its start.
  void add_done(const std::vector<size_t>& same, int s, int node) {
    for (const size_t segment : same) graph_.node_of[{segments_[segment].task, segments_[segment].first + s}] = node;
  }

  void add_edges() {
    std::vector<int> made_by(program_.values.size(), -1);  // node
    std::vector<bool> by_shown(program_.values.size());    // by the layer that is shown of its lane
    for (int n = 0; n < std::ssize(graph_.nodes); ++n) {
      const FlowNode& node = graph_.nodes[static_cast<size_t>(n)];
      for (const InstructionId id : node.steps) {
        for (const int value : steps(id.task)[static_cast<size_t>(id.index)].destinations()) {
          if (made_by[static_cast<size_t>(value)] >= 0) continue;
          made_by[static_cast<size_t>(value)] = n;
          by_shown[static_cast<size_t>(value)] = id == node.steps.front();
        }
      }
    }
    for (int n = 0; n < std::ssize(graph_.nodes); ++n) {
      const InstructionId id = graph_.nodes[static_cast<size_t>(n)].steps.front();
      const std::span<const int> operands = steps(id.task)[static_cast<size_t>(id.index)].operands();
      std::vector<int> taken(operands.begin(), operands.end());
      std::ranges::sort(taken);
      taken.erase(std::ranges::unique(taken).begin(), taken.end());
      for (const int value : taken) {
        const int from = made_by[static_cast<size_t>(value)];
        if (from < 0 || from >= n) continue;
        const bool same_lane =
            graph_.nodes[static_cast<size_t>(from)].lane == graph_.nodes[static_cast<size_t>(n)].lane;
        if (same_lane && !by_shown[static_cast<size_t>(value)]) continue;
        graph_.edges.push_back({from, n, value});
      }
    }
  }

  const Plan& plan_;
  const Program& program_;
  bool fold_;
  std::vector<int> runs_;  // per task
  NetworkLayers layers_;
  std::vector<Segment> segments_;  // in program order
  FlowGraph graph_;
};

}  // namespace

int FlowGraph::find(InstructionId step) const {
  if (step.task < 0 || step.task >= std::ssize(node_of.tasks)) return -1;
  if (step.index < 0 || step.index >= std::ssize(node_of.tasks[static_cast<size_t>(step.task)])) return -1;
  return node_of[step];
}

bool FlowGraph::is_within(const FlowEdge& edge) const {
  return nodes[static_cast<size_t>(edge.from)].lane == nodes[static_cast<size_t>(edge.to)].lane;
}

FlowGraph flow_graph(const Plan& plan, int stage, bool fold) {
  FlowGraph graph = GraphMaker(plan, stage, fold).run();
  lay_out(graph);
  return graph;
}

}  // namespace shardscope
