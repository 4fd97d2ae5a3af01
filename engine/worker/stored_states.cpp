#include "engine/worker/stored_states.h"

#include <fmt/format.h>

#include "engine/optim/optimizer.h"

namespace shardscope {

std::vector<StoredState> stored_states(const Plan& plan) {
  std::vector<StoredState> states;
  for (int id : stored_values(plan)) {
    const ProgramValue& value = plan.program.values[id];
    const State& state = plan.graph->states[plan.graph->values[value.graph_value].state];
    states.push_back({plan.graph->name(state),
                      {value.shape, value.dtype},
                      value.sharding,
                      state.is_parameter(),
                      plan.devices_of_stage(value.stage)});
  }
  return states;
}

std::optional<std::string> of_master(const std::string& state) {
  const std::string collection = std::string(master_collection) + "/";
  if (!state.starts_with(collection)) return std::nullopt;
  return state.substr(collection.size());
}

std::string mesh_text(const Mesh& mesh) {
  std::string text;
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    text += fmt::format("{}{} {}", axis ? " x " : "", mesh.axes()[axis].name, mesh.axes()[axis].size);
  }
  return text;
}

}  // namespace shardscope
