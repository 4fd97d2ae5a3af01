#include "models/module.h"

#include "engine/base/path.h"
#include "engine/ops/cast.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/product_types.h"
#include "engine/ops/registry.h"

namespace shardscope {

namespace {

// The result of a cast of x that the layer at hand has already; no_id where it has none.
ValueId known_cast(const Graph& graph, ValueId x, const CastAttributes& attributes) {
  const OpDefinition& cast = op_definition("cast");
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend() && op->place.layer == graph.place.layer; ++op) {
    if (op->definition == &cast && op->inputs[0] == x && op->attributes.as<CastAttributes>() == attributes) {
      return op->outputs[0];
    }
  }
  return no_id;
}

// Which dimension of an array of these labels has this one; npos where none has.
size_t dimension_of(const std::string& text, char label) {
  const std::vector<std::string> dimensions = dimension_labels(text);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].find(label) != std::string::npos) return d;
  }
  return std::string::npos;
}

}  // namespace

Module Module::child(const std::string& name) const {
  Module module = *this;
  module.path_.push_back(name);
  return module;
}

std::string Module::label(const std::string& leaf) const {
  return path_.empty() ? leaf : join_path(path_) + "/" + leaf;
}

ValueId Module::parameter(const std::string& name, InitialiseAttributes initialiser,
                          std::vector<std::string> logical) const {
  std::vector<std::string> path{"params"};
  path.insert(path.end(), path_.begin(), path_.end());
  path.push_back(name);
  State& state =
      graph_->states[graph_->add_state(op_definition("initialise"), std::move(initialiser), "params", std::move(path))];
  state.trainable = true;
  graph_->values[state.before].logical = std::move(logical);
  return state.before;
}

std::vector<ValueId> Module::append_all(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                        const std::string& leaf) const {
  const std::vector<std::string> logical = graph_->values[inputs[0]].logical;
  const OpId id = graph_->add_op(op_definition(op), label(leaf.empty() ? op : leaf), Phase::forward, std::move(inputs),
                                 std::move(attributes));
  for (ValueId output : graph_->ops[id].outputs) {
    if (graph_->type(output).shape.size() == logical.size()) graph_->values[output].logical = logical;
  }
  return graph_->ops[id].outputs;
}

ValueId Module::append(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                       const std::string& leaf) const {
  return append_all(op, std::move(inputs), std::move(attributes), leaf)[0];
}

ValueId Module::product(ValueId x, ValueId kernel, const Equation& equation, const std::string& leaf,
                        std::vector<std::pair<char, int64_t>> sizes) const {
  const ValueId result = append("einsum", {as_operand(x, leaf), as_operand(kernel, leaf)},
                                EquationAttributes{equation, std::move(sizes)}, leaf);
  std::vector<std::string> logical;
  for (const std::string& labels : dimension_labels(equation.result)) {
    const size_t at = dimension_of(equation.operands[0], labels[0]);
    const std::vector<std::string>& names = graph_->values[at == std::string::npos ? kernel : x].logical;
    const size_t dim = at == std::string::npos ? dimension_of(equation.operands[1], labels[0]) : at;
    logical.push_back(dim < names.size() ? names[dim] : "");
  }
  graph_->values[result].logical = std::move(logical);
  return result;
}

ValueId Module::add(ValueId x, ValueId y, const std::string& leaf) const {
  const TensorType type = graph_->type(x);
  const std::string all = std::string("abcdefgh").substr(0, type.shape.size());
  const std::string last = all.substr(all.size() - graph_->type(y).shape.size());
  return append("add", {x, cast(y, type.dtype, leaf + "/cast")}, EquationAttributes{Equation({all, last}, all)}, leaf);
}

std::vector<ValueId> Module::attention(std::vector<ValueId> operands, AttentionAttributes attributes) const {
  const PlaceScope place(*graph_, LayerPart::attention);
  return append_all("attention", std::move(operands), std::move(attributes));
}

ValueId Module::layer_norm(ValueId x, ValueId scale, ValueId bias) const {
  const std::vector<ValueId> sums = append_all("layer_norm_moments", {x});
  return append("layer_norm", {x, sums[0], sums[1], scale, bias},
                LayerNormAttributes{1e-6, graph_->type(x).shape.back()});
}

ValueId Module::cast(ValueId x, DType to, const std::string& leaf) const {
  if (graph_->type(x).dtype == to) return x;
  const ValueId known = known_cast(*graph_, x, {to});
  return known == no_id ? append("cast", {x}, CastAttributes{to}, leaf) : known;
}

ValueId Module::as_operand(ValueId x, const std::string& product) const { return cast(x, compute_, product + "/cast"); }

ValueId Module::as_result(ValueId x, const std::string& leaf) const {
  return cast(x, product_result(compute_, false), leaf);
}

}  // namespace shardscope
