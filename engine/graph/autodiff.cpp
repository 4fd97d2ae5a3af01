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

void OpDefinition::gradient(GradientContext&) const {}

namespace {

constexpr std::string_view dimension_labels = "abcdefgh";

ValueId sum(Graph& graph, const OpDefinition& add, ValueId a, ValueId b, OpId forward_op) {
  std::string labels(dimension_labels.substr(0, graph.type(a).shape.size()));
  OpId op = graph.add_op(add, graph.ops[forward_op].name + "/grad/sum", Phase::backward, {a, b},
                         {{"equation", labels + "," + labels + "->" + labels}}, forward_op);
  return graph.ops[op].outputs[0];
}

}  // namespace

std::vector<ValueId> differentiate(Graph& graph, ValueId loss, const OpDefinition& add) {
  std::vector<ValueId> cotangents(graph.values.size(), no_id);
  OpId loss_op = graph.values[loss].producer;
  for (OpId id = loss_op; id >= 0; --id) {
    std::vector<ValueId> inputs = graph.ops[id].inputs;
    GradientContext context{graph, id, {}, std::vector<ValueId>(inputs.size(), no_id)};
    bool reaches_loss = id == loss_op;
    for (ValueId output : graph.ops[id].outputs) {
      context.result_cotangents.push_back(cotangents[output]);
      reaches_loss |= cotangents[output] != no_id;
    }
    if (!reaches_loss) continue;
    graph.ops[id].definition->gradient(context);
    for (size_t i = 0; i < inputs.size(); ++i) {
      ValueId cotangent = context.operand_cotangents[i];
      if (cotangent == no_id) continue;
      ValueId& total = cotangents[inputs[i]];
      total = total == no_id ? cotangent : sum(graph, add, total, cotangent, id);
    }
  }
  std::vector<Error> unreached;
  for (Parameter& parameter : graph.parameters) {
    parameter.gradient = cotangents[parameter.value];
    if (parameter.gradient == no_id) {
      unreached.push_back({"no_gradient", "the loss does not depend on this parameter",
                           graph.values[parameter.value].name, "remove it from the model"});
    }
  }
  if (!unreached.empty()) throw Failure(unreached);
  return cotangents;
}

}  // namespace shardscope
