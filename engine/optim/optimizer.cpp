#include "engine/optim/optimizer.h"

#include "engine/ops/initialise.h"
#include "engine/ops/registry.h"
#include "engine/optim/clipping.h"

namespace shardscope {

const std::vector<OptimizerDefinition>& all_optimizers() {
  static const std::vector<OptimizerDefinition> optimizers = optimizer_definitions();
  return optimizers;
}

const OptimizerDefinition* find_optimizer(const std::string& name) {
  for (const OptimizerDefinition& optimizer : all_optimizers()) {
    if (optimizer.name == name) return &optimizer;
  }
  return nullptr;
}

namespace {

StateId add_state_of(Graph& graph, StateId parameter, InitialiseAttributes initialiser, const std::string& collection) {
  const StateId id =
      graph.add_state(op_definition("initialise"), std::move(initialiser), collection, graph.states[parameter].path);
  graph.states[id].follows = parameter;
  graph.values[graph.states[id].before].logical = graph.values[graph.states[parameter].before].logical;
  return id;
}

// Of the parameter's first value before it is rounded.
StateId add_master(Graph& graph, StateId parameter, DType dtype) {
  const Op& op = graph.ops[graph.values[graph.states[parameter].initial].producer];
  InitialiseAttributes initialiser = op.attributes.as<InitialiseAttributes>();
  initialiser.type.dtype = dtype;
  return add_state_of(graph, parameter, std::move(initialiser), master_collection);
}

}  // namespace

StateId add_optimizer_state(Graph& graph, StateId parameter, const std::string& name, DType dtype) {
  const Shape& shape = graph.type(graph.states[parameter].before).shape;
  return add_state_of(graph, parameter, {InitialiseAttributes::Kind::constant, 0, {}, {shape, dtype}},
                      "optimizer/" + name);
}

void append_updates(Graph& graph, const OptionList& options, const StateTypes& types, std::string_view op,
                    std::string_view suffix, std::initializer_list<const char*> states,
                    const std::function<Attributes(const std::string&)>& attributes_of) {
  const std::vector<ValueId> gradients = clipped_gradients(graph, options);
  size_t next = 0;
  for (StateId id : graph.trainable()) {
    const DType moments = types.moments.value_or(types.master.value_or(graph.type(graph.states[id].before).dtype));
    std::vector<StateId> updated{id};
    for (const char* name : states) updated.push_back(add_optimizer_state(graph, id, name, moments));
    if (types.master) updated.push_back(add_master(graph, id, *types.master));
    std::vector<ValueId> operands;
    for (StateId state : updated) operands.push_back(graph.states[state].before);
    operands.insert(operands.begin() + 1, gradients[next++]);
    const std::string parameter = graph.name(graph.states[id]);
    const OpId update = graph.add_op(op_definition(op), parameter + "/" + std::string(suffix), Phase::update, operands,
                                     attributes_of(parameter));
    for (size_t i = 0; i < updated.size(); ++i) graph.states[updated[i]].after = graph.ops[update].outputs[i];
  }
}

}  // namespace shardscope
