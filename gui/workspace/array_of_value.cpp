#include "gui/workspace/array_of_value.h"

#include <algorithm>

#include "gui/document/text.h"
#include "gui/workspace/array_facts.h"

namespace shardscope {
namespace {

ArrayRef array_of_state(const State& state) {
  if (state.is_parameter()) return ParameterRef{state.path};
  const std::string optimizer = "optimizer/";
  if (!state.collection.starts_with(optimizer)) return {};
  return StateRef{state.collection.substr(optimizer.size()), state.path};
}

}  // namespace

ArrayRef array_of_value(const Planner& planner, const Plan& plan, ValueId value) {
  if (&plan != planner.plan().get() || !plan.graph || value == no_id) return {};
  const Graph& graph = *plan.graph;
  for (int hops = 0; value != no_id && hops < 3; ++hops) {
    const Value& it = graph.values[value];
    if (it.kind == ValueKind::state) return array_of_state(graph.states[it.state]);
    if (const ValueLayout* layout = layout_of(planner, value)) return ValueRef{layout->name};
    if (const auto state = std::ranges::find(graph.states, value, &State::after); state != graph.states.end())
      return array_of_state(*state);
    value = it.again_of != no_id ? it.again_of : it.cotangent_of;
  }
  return {};
}

QString value_text(const Plan& plan, ValueId value) {
  if (value == no_id || !plan.graph) return {};
  const Value& it = plan.graph->values[value];
  if (it.cotangent_of != no_id) return QObject::tr("gradient of %1").arg(value_text(plan, it.cotangent_of));
  if (it.again_of != no_id) return QObject::tr("%1, recomputed").arg(value_text(plan, it.again_of));
  return short_name(it.name);
}

ValueId moved_value(const Plan& plan, const Instruction& instruction) {
  const std::span<const int> arrays = instruction.as<Receive>() ? instruction.results() : instruction.operands();
  return arrays.empty() ? no_id : plan.program.values[arrays.front()].graph_value;
}

QString moved_text(const Plan& plan, const Instruction& instruction) {
  const size_t count = std::max(instruction.operands().size(), instruction.destinations().size());
  const QString first = value_text(plan, moved_value(plan, instruction));
  return count > 1 ? QObject::tr("%1 and %2 more").arg(first).arg(count - 1) : first;
}

}  // namespace shardscope
