#include "engine/graph/autodiff.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/graph/casts.h"
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

class Differentiation {
 public:
  Differentiation(Graph& graph, const OpDefinition& add, Attributes (*add_attributes)(const TensorType&))
      : graph_(graph),
        add_(add),
        add_attributes_(add_attributes),
        trained_(trained_values(graph)),
        cotangents_(graph.values.size(), no_id),
        is_narrowed_again_(graph.values.size()) {}

  std::vector<ValueId> run(std::span<const CotangentSeed> seeds) {
    for (const CotangentSeed& seed : seeds) {
      contribute(seed.value, seed.cotangent, graph_.values[seed.value].name, graph_.values[seed.value].producer);
    }
    for (OpId id = static_cast<OpId>(graph_.ops.size()) - 1; id >= 0; --id) {
      if (graph_.ops[id].phase != Phase::forward || narrows(graph_, graph_.ops[id])) continue;
      std::vector<ValueId> given;
      for (ValueId output : graph_.ops[id].outputs) given.push_back(cotangents_[output]);
      pull_back(id, std::move(given));
    }
    for (ValueId value = static_cast<ValueId>(cotangents_.size()) - 1; value >= 0; --value) {
      if (is_narrowed_again_[value]) cotangents_[value] = no_id;
      if (cotangents_[value] == no_id) continue;
      ValueId& of = graph_.values[cotangents_[value]].cotangent_of;
      if (of == no_id) of = value;
    }
    finish_states();
    if (!faults_.empty()) throw Failure(faults_);
    return std::move(cotangents_);
  }

 private:
  void contribute(ValueId value, ValueId cotangent, const std::string& name, OpId forward_op) {
    const OpId producer = graph_.values[value].producer;
    const bool narrowed = producer != no_id && narrows(graph_, graph_.ops[producer]);
    ValueId& total = cotangents_[value];
    if (total == no_id) {
      total = cotangent;
    } else if (!narrowed) {
      const OpId op = graph_.add_op(add_, name + "/grad/sum", Phase::backward, {total, cotangent},
                                    add_attributes_(graph_.type(value)), forward_op);
      total = graph_.ops[op].outputs[0];
    } else {
      is_narrowed_again_[value] = true;
    }
    if (narrowed) pull_back(producer, {cotangent});
  }

  // Gives an op's operands what these cotangents of its results come to.
  void pull_back(OpId id, std::vector<ValueId> given) {
    if (graph_.ops[id].definition->stops_gradient()) return;
    const std::vector<ValueId> inputs = graph_.ops[id].inputs;
    GradientContext context{graph_, id, std::move(given), std::vector<ValueId>(inputs.size(), no_id), {}};
    for (ValueId input : inputs) context.trained.push_back(trained_[input]);
    const auto reaches_seed = [](ValueId cotangent) { return cotangent != no_id; };
    if (std::ranges::none_of(context.result_cotangents, reaches_seed)) return;
    if (std::ranges::find(context.trained, true) == context.trained.end()) return;
    graph_.ops[id].definition->gradient(context);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId cotangent = context.operand_cotangents[i];
      if (cotangent >= 0) {
        contribute(inputs[i], cotangent, graph_.ops[id].name, id);
      } else if (cotangent == no_id && trained_[inputs[i]]) {
        faults_.push_back({"no_gradient",
                           std::string(graph_.ops[id].definition->name()) + " has no gradient for operand " +
                               std::to_string(i) + ", through which the loss reaches a parameter",
                           at_name(graph_.ops[id].name), "use another op here, or one that stops gradients"});
      }
    }
  }

  void finish_states() {
    const bool every_op_has_its_gradients = faults_.empty();
    for (State& state : graph_.states) {
      if (state.trainable) state.gradient = cotangents_[state.before];
      if (every_op_has_its_gradients && state.trainable && cotangents_[state.before] == no_id) {
        faults_.push_back({"no_gradient", "the loss does not depend on this parameter", graph_.name(state),
                           "remove it from the model"});
      }
    }
  }

  Graph& graph_;
  const OpDefinition& add_;
  Attributes (*add_attributes_)(const TensorType&);
  const std::vector<bool> trained_;
  std::vector<ValueId> cotangents_;      // per value that was there
  std::vector<bool> is_narrowed_again_;  // likewise: narrowed for several uses, each with a cotangent
  std::vector<Error> faults_;
};

}  // namespace

std::vector<ValueId> differentiate(Graph& graph, std::span<const CotangentSeed> seeds, const OpDefinition& add,
                                   Attributes (*add_attributes)(const TensorType&)) {
  return Differentiation(graph, add, add_attributes).run(seeds);
}

}  // namespace shardscope
