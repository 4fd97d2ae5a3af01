#include "engine/plan/blocking_groups.h"

#include <algorithm>
#include <array>

#include "engine/graph/casts.h"

namespace shardscope {

MovedKind moved_kind(const CollectiveStart& start, Phase phase, const Program& program, const Graph& graph,
                     const std::vector<bool>& of_states) {
  const ValueId value = program.values[static_cast<size_t>(start.operands.front())].graph_value;
  const Value& moved = graph.values[static_cast<size_t>(value)];
  if (moved.cotangent_of != no_id && of_states[static_cast<size_t>(moved.cotangent_of)]) return MovedKind::gradients;
  if (of_states[static_cast<size_t>(value)]) return MovedKind::parameters;
  if (phase != Phase::update) return MovedKind::activations;
  // An update gathers what it has made of a state, and reduces all else.
  return start.kind == InstructionKind::all_gather ? MovedKind::parameters : MovedKind::gradients;
}

std::vector<bool> blocking_groups(const Program& program, const Graph& graph, const StackOverlap& overlap) {
  const std::vector<bool> of_states = values_of_states(graph);
  std::vector<std::array<double, 2>> bytes(program.groups.size());  // that may overlap, and that may not
  for (const Task& task : program.tasks) {
    for (const Instruction& instruction : task.instructions) {
      const CollectiveStart* start = instruction.as<CollectiveStart>();
      if (!start) continue;
      const MovedKind kind = moved_kind(*start, instruction.phase, program, graph, of_states);
      const bool may = kind == MovedKind::gradients                         ? overlap.gradients
                       : kind == MovedKind::parameters                      ? overlap.parameters
                       : start->kind == InstructionKind::collective_permute ? overlap.context
                                                                            : overlap.tensor;
      const auto group = std::ranges::find(program.groups, start->axes) - program.groups.begin();
      bytes[static_cast<size_t>(group)][may ? 0 : 1] += instruction.wire_bytes();
    }
  }
  std::vector<bool> blocking;
  for (const auto& [overlapped, exposed] : bytes) blocking.push_back(exposed > overlapped);
  return blocking;
}

InstructionTable<double> hide_behind_passes(const Program& program, const Graph& graph, const StackOverlap& overlap,
                                            double host_seconds, InstructionTable<double>& seconds) {
  InstructionTable<double> hidden;
  for (const Task& task : program.tasks) hidden.tasks.emplace_back(task.instructions.size());
  const std::vector<bool> of_states = values_of_states(graph);
  for (int stage = 0; stage < program.stages; ++stage) {
    std::array<double, 2> moving{}, computing{}, issuing{};  // of gradients, backward; of parameters, forward
    const auto of_update = [&](auto&& visit) {
      for (size_t t = 0; t < program.tasks.size(); ++t) {
        const Task& task = program.tasks[t];
        if (task.stage != stage || task.phase != Phase::update) continue;
        for (size_t i = 0; i < task.instructions.size(); ++i) {
          const CollectiveStart* start = task.instructions[i].as<CollectiveStart>();
          if (!start) continue;
          const MovedKind kind = moved_kind(*start, Phase::update, program, graph, of_states);
          visit(kind == MovedKind::parameters ? size_t{1} : size_t{0}, seconds.tasks[t][i], hidden.tasks[t][i]);
        }
      }
    };
    of_update([&](size_t kind, double of_one, double) { moving[kind] += of_one; });
    for (size_t t = 0; t < program.tasks.size(); ++t) {
      const Task& task = program.tasks[t];
      if (task.stage != stage || (task.phase != Phase::forward && task.phase != Phase::backward)) continue;
      for (size_t i = 0; i < task.instructions.size(); ++i) {
        const size_t pass = task.phase == Phase::forward;
        if (task.instructions[i].as<Compute>()) computing[pass] += seconds.tasks[t][i];
        if (seconds.tasks[t][i] > 0) issuing[pass] += host_seconds;
      }
    }
    const std::array<bool, 2> overlapped = {overlap.gradients, overlap.parameters};
    of_update([&](size_t kind, double& of_one, double& taken) {
      if (!overlapped[kind] || moving[kind] <= 0) return;
      const double share = std::min(1.0, std::max(computing[kind], issuing[kind]) / moving[kind]);
      taken = of_one * share;
      of_one *= 1 - share;
    });
  }
  return hidden;
}

std::vector<double> hidden_of_stages(const Program& program, const InstructionTable<double>& hidden) {
  std::vector<double> of_stages(static_cast<size_t>(program.stages));
  for (size_t t = 0; t < hidden.tasks.size(); ++t)
    for (const double seconds : hidden.tasks[t]) of_stages[static_cast<size_t>(program.tasks[t].stage)] += seconds;
  return of_stages;
}

}  // namespace shardscope
