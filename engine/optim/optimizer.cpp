#include "engine/optim/optimizer.h"

#include "engine/ops/initialise.h"
#include "engine/ops/registry.h"

namespace shardscope {

const std::vector<OptimizerDefinition>& all_optimizers() {
  static const std::vector<OptimizerDefinition> optimizers{adam_optimizer(), adamw_optimizer(), sgd_optimizer()};
  return optimizers;
}

const OptimizerDefinition* find_optimizer(const std::string& name) {
  for (const OptimizerDefinition& optimizer : all_optimizers()) {
    if (optimizer.name == name) return &optimizer;
  }
  return nullptr;
}

StateId add_optimizer_state(Graph& graph, StateId parameter, const std::string& name) {
  InitialiseAttributes zeros{InitialiseAttributes::Kind::constant, 0, {}, graph.type(graph.states[parameter].before)};
  const StateId id =
      graph.add_state(op_definition("initialise"), std::move(zeros), "optimizer/" + name, graph.states[parameter].path);
  graph.states[id].follows = parameter;
  graph.values[graph.states[id].before].logical = graph.values[graph.states[parameter].before].logical;
  return id;
}

}  // namespace shardscope
