#include "engine/graph/autodiff.h"

#include "engine/base/error.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

OpId GradientContext::append(const OpDefinition& definition, std::vector<ValueId> inputs, Attributes attributes,
                             std::string_view leaf) {
  std::string name = graph.ops[op].name + "/grad/" + std::string(leaf.empty() ? definition.name() : leaf);
  return graph.add_op(definition, std::move(name), Phase::backward, std::move(inputs), std::move(attributes), op);
}

ValueId GradientContext::append_value(const OpDefinition& definition, std::vector<ValueId> inputs,
                                      Attributes attributes, std::string_view leaf) {
  return graph.ops[append(definition, std::move(inputs), std::move(attributes), leaf)].outputs[0];
}

namespace {

// Values that depend on a trainable state.
std::vector<bool> trained_values(const Graph& graph) {
  std::vector<bool> trained(graph.values.size());
  for (const State& state : graph.states) {
    if (state.trainable) trained[state.before] = true;
  }
  for (const Op& op : graph.ops) {
    bool depends = false;
    for (ValueId input : op.inputs) depends |= trained[input];
    if (!depends || op.definition->stops_gradient()) continue;
    for (ValueId output : op.outputs) trained[output] = is_float(graph.type(output).dtype);
  }
  return trained;
}

}  // namespace

std::vector<ValueId> differentiate(Graph& graph, std::span<const CotangentSeed> seeds, const OpDefinition& add,
                                   Attributes (*add_attributes)(const TensorType&)) {
  const std::vector<bool> trained = trained_values(graph);
  std::vector<ValueId> cotangents(graph.values.size(), no_id);
  std::vector<Error> faults;
  auto contribute = [&](ValueId value, ValueId cotangent, const std::string& name, OpId forward_op) {
    ValueId& total = cotangents[value];
    if (total == no_id) {
      total = cotangent;
      return;
    }
    const OpId op = graph.add_op(add, name + "/grad/sum", Phase::backward, {total, cotangent},
                                 add_attributes(graph.type(value)), forward_op);
    total = graph.ops[op].outputs[0];
  };
  for (const CotangentSeed& seed : seeds) {
    contribute(seed.value, seed.cotangent, graph.values[seed.value].name, graph.values[seed.value].producer);
  }
  for (OpId id = static_cast<OpId>(graph.ops.size()) - 1; id >= 0; --id) {
    if (graph.ops[id].phase != Phase::forward || graph.ops[id].definition->stops_gradient()) continue;
    const std::vector<ValueId> inputs = graph.ops[id].inputs;
    GradientContext context{graph, id, {}, std::vector<ValueId>(inputs.size(), no_id), {}};
    bool reaches_seed = false, needed = false;
    for (ValueId output : graph.ops[id].outputs) {
      context.result_cotangents.push_back(cotangents[output]);
      reaches_seed |= cotangents[output] != no_id;
    }
    for (ValueId input : inputs) {
      context.trained.push_back(trained[input]);
      needed |= trained[input];
    }
    if (!reaches_seed || !needed) continue;
    graph.ops[id].definition->gradient(context);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId cotangent = context.operand_cotangents[i];
      if (cotangent >= 0) {
        contribute(inputs[i], cotangent, graph.ops[id].name, id);
      } else if (cotangent == no_id && trained[inputs[i]]) {
        faults.push_back({"no_gradient",
                          std::string(graph.ops[id].definition->name()) + " has no gradient for operand " +
                              std::to_string(i) + ", through which the loss reaches a parameter",
                          at_name(graph.ops[id].name), "use another op here, or one that stops gradients"});
      }
    }
  }
  for (ValueId value = static_cast<ValueId>(cotangents.size()) - 1; value >= 0; --value) {
    if (cotangents[value] == no_id) continue;
    ValueId& of = graph.values[cotangents[value]].cotangent_of;
    if (of == no_id) of = value;
  }
  const bool every_op_has_its_gradients = faults.empty();
  for (State& state : graph.states) {
    if (state.trainable) state.gradient = cotangents[state.before];
    if (every_op_has_its_gradients && state.trainable && cotangents[state.before] == no_id) {
      faults.push_back(
          {"no_gradient", "the loss does not depend on this parameter", graph.name(state), "remove it from the model"});
    }
  }
  if (!faults.empty()) throw Failure(faults);
  return cotangents;
}

}  // namespace shardscope
