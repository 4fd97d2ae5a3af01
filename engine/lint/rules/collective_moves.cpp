#include "engine/lint/rules/collective_moves.h"

#include <algorithm>
#include <span>

#include "engine/config/json_document.h"
#include "engine/config/run_document.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

std::vector<CollectiveMove> collective_moves(const Plan& plan) {
  std::vector<CollectiveMove> moves;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const SequenceInstructions instructions = plan.instructions(stage);
    for (const auto& [position, count] : distinct_instructions(plan.program.main(stage))) {
      const Instruction& instruction = instructions[position];
      const CollectiveStart* start = instruction.as<CollectiveStart>();
      if (!start) continue;
      // An exchange of counted rows has the counts as operands, too, which do not move.
      const std::span<const int> moved(start->operands.data(), start->moved.size());
      int64_t all = 0;
      for (const int operand : moved) all += plan.program.values[static_cast<size_t>(operand)].bytes();
      for (size_t i = 0; i < moved.size(); ++i) {
        const Cause& cause = start->moved[i].cause;
        if (cause.user == no_id || cause.from < 0 || cause.to < 0) continue;
        const auto value = [&](int id) -> const ProgramValue& { return plan.program.values[static_cast<size_t>(id)]; };
        const double share = static_cast<double>(value(start->operands[i]).bytes()) / static_cast<double>(all);
        moves.push_back({instruction.kind(), start->axes, instruction.phase, value(cause.from).graph_value, cause.user,
                         value(cause.from).sharding, value(cause.to).sharding,
                         share * count * plan.seconds(position, stage), &instruction});
      }
    }
  }
  return moves;
}

std::optional<size_t> parameter_of(const Plan& plan, ValueId value) {
  const Graph& graph = *plan.graph;
  while (value != no_id) {
    const Value& it = graph.values[static_cast<size_t>(value)];
    if (it.kind == ValueKind::state) {
      const auto is_it = [&](const ParameterPlan& parameter) { return parameter.state == it.state; };
      const auto found = std::ranges::find_if(plan.parameters, is_it);
      if (found == plan.parameters.end()) return std::nullopt;
      return static_cast<size_t>(found - plan.parameters.begin());
    }
    if (it.again_of != no_id) {
      value = it.again_of;
      continue;
    }
    if (it.producer == no_id || graph.ops[static_cast<size_t>(it.producer)].definition->name() != "cast")
      return std::nullopt;
    value = graph.ops[static_cast<size_t>(it.producer)].inputs.front();
  }
  return std::nullopt;
}

std::string spec_setting(const Plan& plan, const std::string& place, const Sharding& sharding) {
  Sharding whole = sharding;
  whole.partial = 0;
  return place + "=" + print_json_line(to_node(to_spec(whole, plan.mesh)));
}

}  // namespace shardscope
