#include "engine/search/replica_traffic.h"

#include <algorithm>
#include <tuple>

#include "engine/graph/casts.h"
#include "engine/plan/blocking_groups.h"
#include "engine/plan/cost_model.h"
#include "engine/search/task_clock.h"

namespace shardscope {

ReplicaTraffic replica_traffic(const LoweredStep& step, AxisIndex replicas, bool counts_update) {
  const Program& program = step.program;
  const NetworkParts parts = step.parts();
  const std::vector<bool> of_states = values_of_states(step.graph());
  AxisList along;
  along.push_back(replicas);
  const ParameterTokens tokens(step.graph(), of_states, step.prices->types());
  ReplicaTraffic traffic;
  for (const Task& task : program.tasks) {
    const auto where = task.name == "forward"    ? ReplicaTraffic::forward
                       : task.name == "backward" ? ReplicaTraffic::backward
                                                 : ReplicaTraffic::update;
    if (where == ReplicaTraffic::update && (task.name != "update" || !counts_update)) continue;
    for (const Instruction& instruction : task.instructions) {
      const CollectiveStart* start = instruction.as<CollectiveStart>();
      const int part = parts.of_op(instruction.op);
      if (!start || is_bucket(*start) || start->axes != along || part < 0 || part >= parts.kept()) continue;
      const MovedKind kind = moved_kind(*start, task.phase, program, step.graph(), of_states);
      const bool is_gather = start->kind == InstructionKind::all_gather && kind == MovedKind::parameters,
                 is_sum = start->kind == InstructionKind::reduce_scatter && kind == MovedKind::gradients,
                 is_whole_sum = start->kind == InstructionKind::all_reduce && kind == MovedKind::gradients &&
                                where == ReplicaTraffic::update;
      const double payload = payload_as_held(*start, program, *step.prices);
      if (is_whole_sum) traffic.moved.push_back({part, where, start->kind, 0, payload});
      if (!is_gather && !is_sum) continue;
      const Shape &from = program.values[static_cast<size_t>(start->operands.front())].local_shape,
                  &to = program.values[static_cast<size_t>(start->destinations.front())].local_shape;
      const size_t split = static_cast<size_t>(std::ranges::mismatch(from, to).in1 - from.begin());
      if (split == from.size()) continue;
      ReplicaTraffic::Moved& moved = traffic.moved.emplace_back();
      moved = {part, where, start->kind, std::max(from[split], to[split]), payload};
      const ValueId value = program.values[static_cast<size_t>(start->operands.front())].graph_value;
      if (where == ReplicaTraffic::update) continue;
      moved.tokens = tokens.of(value);
      const auto rows = static_cast<double>(step.mesh.device_count() * step.config.strategy->microbatch_size);
      moved.tokens.taken_bytes /= rows;
      moved.tokens.other_bytes /= rows;
    }
  }
  std::ranges::stable_sort(traffic.moved, {}, [](const ReplicaTraffic::Moved& moved) {
    return std::tuple(moved.where, moved.part, moved.tokens.taken, moved.tokens.parameter);
  });
  return traffic;
}

}  // namespace shardscope
