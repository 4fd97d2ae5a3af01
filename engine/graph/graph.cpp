#include "engine/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/error.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

const Attribute& attribute(const Attributes& attributes, std::string_view key) {
  auto found = attributes.find(key);
  if (found == attributes.end()) {
    throw Failure(Error{"missing_attribute", fmt::format("attribute '{}' is missing", key), "", ""});
  }
  return found->second;
}

[[noreturn]] void fail(const Op& op, const std::string& what) {
  throw Failure(Error{"invalid_graph", what, op.name, ""});
}

// The shape rule's answer; its failures name the op.
std::vector<TensorType> infer(const OpDefinition& definition, const std::string& name, const Attributes& attributes,
                              std::span<const TensorType> operands) {
  try {
    return definition.infer(attributes, operands);
  } catch (const Failure& failure) {
    std::vector<Error> errors = failure.errors();
    for (Error& error : errors) error.where = name;
    throw Failure(errors);
  }
}

}  // namespace

int64_t integer(const Attributes& attributes, std::string_view key) {
  return std::get<int64_t>(attribute(attributes, key));
}

double real(const Attributes& attributes, std::string_view key) { return std::get<double>(attribute(attributes, key)); }

const std::string& text(const Attributes& attributes, std::string_view key) {
  return std::get<std::string>(attribute(attributes, key));
}

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::forward: return "forward";
    case Phase::backward: return "backward";
    case Phase::update: return "update";
  }
  return "?";
}

OpId Graph::add_op(const OpDefinition& definition, std::string name, Phase phase, std::vector<ValueId> inputs,
                   Attributes attributes, OpId forward_op) {
  std::vector<TensorType> operand_types;
  for (ValueId input : inputs) {
    if (input < 0 || input >= static_cast<ValueId>(values.size())) {
      throw Failure(Error{"invalid_graph", "operand is not defined", name, ""});
    }
    operand_types.push_back(type(input));
  }
  std::vector<TensorType> result_types = infer(definition, name, attributes, operand_types);
  if (int taken = names_[name]++) name += fmt::format("_{}", taken);
  OpId id = static_cast<OpId>(ops.size());
  Op op{&definition, std::move(name), phase, forward_op, std::move(attributes), std::move(inputs), {}};
  for (size_t i = 0; i < result_types.size(); ++i) {
    std::string value_name = result_types.size() == 1 ? op.name : fmt::format("{}:{}", op.name, i);
    op.outputs.push_back(static_cast<ValueId>(values.size()));
    values.push_back({value_name, result_types[i], ValueKind::result, id, static_cast<int>(i)});
  }
  ops.push_back(std::move(op));
  return id;
}

ValueId Graph::add_source(std::string name, TensorType type, ValueKind kind) {
  values.push_back({std::move(name), std::move(type), kind, no_id, 0});
  return static_cast<ValueId>(values.size()) - 1;
}

void verify(const Graph& graph) {
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
    const Op& op = graph.ops[id];
    std::vector<TensorType> operands, results;
    for (ValueId input : op.inputs) {
      if (input < 0 || input >= static_cast<ValueId>(graph.values.size())) fail(op, "operand is out of range");
      if (graph.values[input].producer >= id) fail(op, "operand is defined after its use");
      operands.push_back(graph.type(input));
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i] < 0 || op.outputs[i] >= static_cast<ValueId>(graph.values.size()))
        fail(op, "result is out of range");
      const Value& value = graph.values[op.outputs[i]];
      if (value.producer != id || value.result_index != static_cast<int>(i)) fail(op, "result belongs to another op");
      results.push_back(value.type);
    }
    if (infer(*op.definition, op.name, op.attributes, operands) != results) {
      fail(op, "result types disagree with the shape rule");
    }
    if (op.forward_op >= id) fail(op, "differentiates a later op");
    FactorRule rule = op.definition->factors(op.attributes, operands, results);
    auto check_dims = [&](const std::vector<std::vector<int>>& maps, const std::vector<TensorType>& types) {
      if (maps.size() != types.size()) fail(op, "factor rule has another number of operands or results");
      for (size_t i = 0; i < maps.size(); ++i) {
        if (maps[i].size() != types[i].shape.size()) fail(op, "factor rule has another rank");
        for (size_t d = 0; d < maps[i].size(); ++d) {
          size_t factor = static_cast<size_t>(maps[i][d]);
          if (factor >= rule.factors.size()) fail(op, "factor rule names a factor that it lacks");
          if (rule.factors[factor].size != types[i].shape[d]) fail(op, "factor size disagrees with a dimension");
        }
      }
    };
    check_dims(rule.operands, operands);
    check_dims(rule.results, results);
  }
}

std::string to_string(const Graph& graph) {
  std::string result;
  for (const Op& op : graph.ops) {
    std::string outputs, inputs, attributes;
    for (ValueId id : op.outputs) {
      outputs += fmt::format("{}%{} {}{}", outputs.empty() ? "" : ", ", id, name(graph.type(id).dtype),
                             to_string(graph.type(id).shape));
    }
    for (ValueId id : op.inputs) inputs += fmt::format("{}%{}", inputs.empty() ? "" : ", ", id);
    for (const auto& [key, value] : op.attributes) {
      std::visit([&](const auto& v) { attributes += fmt::format("{}{}={}", attributes.empty() ? "" : ", ", key, v); },
                 value);
    }
    result += fmt::format("{} = {}({}) {{{}}} {}", outputs, op.definition->name(), inputs, attributes, op.name);
    if (op.forward_op != no_id) result += fmt::format(" [backward of {}]", graph.ops[op.forward_op].name);
    result += '\n';
  }
  return result;
}

}  // namespace shardscope
