#include "tests/reference/reference.h"

#include <map>

#include "engine/base/bfloat16.h"
#include "engine/base/error.h"
#include "engine/ops/registry.h"
#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

using Registry = std::map<std::string_view, Results (*)(const Call&)>;

const Registry& registry() {
  static const Registry all = [] {
    Registry map;
    for (const std::vector<NamedReference>& family : reference_families()) {
      for (const NamedReference& named : family) map.emplace(named.op, named.results);
    }
    return map;
  }();
  return all;
}

double rounded_to_bf16(double x) { return to_float(to_bfloat16(static_cast<float>(x))); }

}  // namespace

bool has_reference(std::string_view op) { return registry().contains(op); }

std::vector<Array> evaluate(std::string_view op, const Attributes& attributes, std::span<const Array> operands,
                            int64_t step) {
  const std::string name(op);
  if (!has_reference(op)) throw Failure(Error{"no_reference", "op '" + name + "' has no reference", "", ""});
  std::vector<TensorType> operand_types;
  for (const Array& operand : operands) operand_types.push_back(operand.type);
  const std::vector<TensorType> types = op_definition(op).infer(attributes, operand_types).results;
  Results results = registry().at(op)({attributes, operands, step});
  bool fits = results.size() == types.size();
  for (size_t i = 0; fits && i < types.size(); ++i) fits = results[i].size() == element_count(types[i].shape);
  if (!fits) throw Failure(Error{"shape", "the reference of op '" + name + "' makes other shapes", "", ""});
  std::vector<Array> arrays;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].dtype == DType::bf16) results[i] = results[i].unaryExpr(&rounded_to_bf16);
    arrays.push_back({types[i], std::move(results[i])});
  }
  return arrays;
}

WholeGraph::WholeGraph(const Graph& graph) : graph_(graph) {
  for (const Value& value : graph.values) {
    arrays_.push_back({value.type, Values::Zero(element_count(value.type.shape))});
  }
}

void WholeGraph::run() {
  for (const Op& op : graph_.ops) {
    if (op.phase == Phase::initialise) continue;
    std::vector<Array> operands;
    for (ValueId id : op.inputs) operands.push_back(array(id));
    std::vector<Array> results = evaluate(op.definition->name(), op.attributes, operands);
    for (size_t i = 0; i < results.size(); ++i) array(op.outputs[i]) = std::move(results[i]);
  }
}

}  // namespace shardscope::reference
