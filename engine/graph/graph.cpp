#include "engine/graph/graph.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/path.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

// The shape rule's answer; its failures name the op.
OpSignature infer(const OpDefinition& definition, const std::string& name, const Attributes& attributes,
                  std::span<const TensorType> operands) {
  try {
    return definition.infer(attributes, operands);
  } catch (const Failure& failure) {
    std::vector<Error> errors = failure.errors();
    for (Error& error : errors) error.place = at_name(name);
    throw Failure(errors);
  }
}

uint64_t mixed(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9e3779b97f4a7c15ull + (hash >> 29); }

}  // namespace

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::forward: return "forward";
    case Phase::backward: return "backward";
    case Phase::update: return "update";
    case Phase::recompute: return "recompute";
    case Phase::initialise: return "initialise";
  }
  return "?";
}

int Graph::sign(const OpDefinition& definition, const std::string& name, const Attributes& attributes,
                const std::vector<ValueId>& inputs) {
  uint64_t key = mixed(reinterpret_cast<uintptr_t>(&definition), attributes.hash());
  for (ValueId input : inputs) {
    if (input < 0 || input >= static_cast<ValueId>(values.size())) {
      throw Failure(Error{"invalid_graph", "operand is not defined", at_name(name), ""});
    }
    key = mixed(key, static_cast<uint64_t>(type(input).dtype));
    for (int64_t size : type(input).shape) key = mixed(key, static_cast<uint64_t>(size));
  }
  auto [first, last] = signed_ops_.equal_range(key);
  for (; first != last; ++first) {
    const Op& other = ops[first->second];
    bool same = other.definition == &definition && other.inputs.size() == inputs.size();
    for (size_t i = 0; same && i < inputs.size(); ++i) same = type(other.inputs[i]) == type(inputs[i]);
    if (same && other.attributes == attributes) return other.signature;
  }
  std::vector<TensorType> operands;
  for (ValueId input : inputs) operands.push_back(type(input));
  signatures.push_back(infer(definition, name, attributes, operands));
  signed_ops_.emplace(key, static_cast<OpId>(ops.size()));
  return static_cast<int>(signatures.size()) - 1;
}

Graph::TakenName* Graph::find_name(std::string_view name) {
  auto [first, last] = names_.equal_range(hash_bytes(name));
  while (first != last && ops[first->second.op].name != name) ++first;
  return first == last ? nullptr : &first->second;
}

OpId Graph::add_op(const OpDefinition& definition, std::string name, Phase phase, std::vector<ValueId> inputs,
                   Attributes attributes, OpId forward_op) {
  const int signature = sign(definition, name, attributes, inputs);
  if (TakenName* taken = find_name(name)) {
    const std::string asked = name;
    do name = fmt::format("{}_{}", asked, taken->asked++);
    while (find_name(name));
  }
  OpId id = static_cast<OpId>(ops.size());
  names_.emplace(hash_bytes(name), TakenName{id, 1});
  Op op{&definition,
        std::move(name),
        phase,
        forward_op,
        std::move(attributes),
        std::move(inputs),
        {},
        signature,
        forward_op == no_id ? place : ops[forward_op].place};
  const std::vector<TensorType>& results = signatures[signature].results;
  for (size_t i = 0; i < results.size(); ++i) {
    std::string value_name = results.size() == 1 ? op.name : fmt::format("{}:{}", op.name, i);
    op.outputs.push_back(static_cast<ValueId>(values.size()));
    Value& value = values.emplace_back();
    value.name = std::move(value_name);
    value.type = results[i];
    value.producer = id;
    value.result_index = static_cast<int>(i);
  }
  ops.push_back(std::move(op));
  return id;
}

ValueId Graph::add_input(std::string name, TensorType type) {
  Value& value = values.emplace_back();
  value.name = name;
  value.type = std::move(type);
  value.kind = ValueKind::input;
  return inputs[std::move(name)] = static_cast<ValueId>(values.size()) - 1;
}

void Graph::reorder(const std::vector<OpId>& order) {
  std::vector<OpId> now(ops.size());
  std::vector<Op> ordered;
  ordered.reserve(ops.size());
  for (OpId before : order) {
    now[before] = static_cast<OpId>(ordered.size());
    for (ValueId output : ops[before].outputs) values[output].producer = now[before];
    ordered.push_back(std::move(ops[before]));
  }
  ops = std::move(ordered);
  for (Op& op : ops) op.forward_op = op.forward_op == no_id ? no_id : now[op.forward_op];
  for (auto& [hash, taken] : names_) taken.op = now[taken.op];
  for (auto& [key, op] : signed_ops_) op = now[op];
}

StateId Graph::add_state(const OpDefinition& initialiser, Attributes attributes, std::string collection,
                         std::vector<std::string> path) {
  std::string state_name = join_path(path);
  if (path.empty() || path[0] != collection) state_name = collection + "/" + state_name;
  const OpId op = add_op(initialiser, state_name + "/initialise", Phase::initialise, {}, std::move(attributes));
  const StateId id = static_cast<StateId>(states.size());
  State state;
  state.path = std::move(path);
  state.collection = std::move(collection);
  state.initial = ops[op].outputs.at(0);
  state.before = static_cast<ValueId>(values.size());
  Value value;
  value.name = std::move(state_name);
  value.type = type(state.initial);
  value.kind = ValueKind::state;
  value.state = id;
  values.push_back(std::move(value));
  states.push_back(std::move(state));
  return id;
}

std::vector<StateId> Graph::trainable() const {
  std::vector<StateId> ids;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].trainable) ids.push_back(static_cast<StateId>(i));
  }
  return ids;
}

std::vector<StateId> Graph::parameters() const {
  std::vector<StateId> ids;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].is_parameter()) ids.push_back(static_cast<StateId>(i));
  }
  return ids;
}

void verify(const Graph& graph) {
  const ValueId value_count = static_cast<ValueId>(graph.values.size());
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
    const Op& op = graph.ops[id];
    auto fail = [&](const std::string& what) { throw Failure(Error{"invalid_graph", what, at_name(op.name), ""}); };
    if (op.signature < 0 || op.signature >= static_cast<int>(graph.signatures.size())) fail("it has no signature");
    const OpSignature& signature = graph.signatures[op.signature];
    const FactorRule& rule = signature.rule;
    if (rule.operands.size() != op.inputs.size() || rule.results.size() != op.outputs.size() ||
        signature.results.size() != op.outputs.size() || rule.reductions.size() != op.outputs.size()) {
      fail("factor rule has another number of operands or results");
    }
    auto check_dimensions = [&](const std::vector<DimensionFactors>& dimensions, const Shape& shape) {
      if (dimensions.size() != shape.size()) fail("factor rule has another rank");
      uint32_t seen = 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        for (int factor : dimensions[d]) {
          if (factor < 0 || factor >= static_cast<int>(rule.factors.size())) {
            fail("factor rule names a factor that it lacks");
          }
          if ((seen >> factor) & 1) fail("factor rule has a factor twice in one array");
          seen |= 1u << factor;
        }
        if (dimension_size(rule, dimensions[d]) != shape[d]) fail("factor size disagrees with a dimension");
      }
    };
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId input = op.inputs[i];
      if (input < 0 || input >= value_count) fail("operand is out of range");
      if (graph.values[input].producer >= id) fail("operand is defined after its use");
      check_dimensions(rule.operands[i], graph.type(input).shape);
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i] < 0 || op.outputs[i] >= value_count) fail("result is out of range");
      const Value& value = graph.values[op.outputs[i]];
      if (value.producer != id || value.result_index != static_cast<int>(i)) fail("result belongs to another op");
      if (value.type != signature.results[i]) fail("result types disagree with the shape rule");
      check_dimensions(rule.results[i], value.type.shape);
    }
    if (op.forward_op >= id) fail("differentiates a later op");
  }
}

std::string to_string(const Graph& graph) {
  std::string result;
  for (const Op& op : graph.ops) {
    std::string outputs, inputs;
    for (ValueId id : op.outputs) {
      outputs += fmt::format("{}%{} {}{}", outputs.empty() ? "" : ", ", id, name(graph.type(id).dtype),
                             to_string(graph.type(id).shape));
    }
    for (ValueId id : op.inputs) inputs += fmt::format("{}%{}", inputs.empty() ? "" : ", ", id);
    result +=
        fmt::format("{} = {}({}) {{{}}} {}", outputs, op.definition->name(), inputs, op.attributes.text(), op.name);
    if (op.forward_op != no_id) result += fmt::format(" [backward of {}]", graph.ops[op.forward_op].name);
    result += '\n';
  }
  return result;
}

}  // namespace shardscope
