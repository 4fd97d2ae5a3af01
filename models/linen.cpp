#include "models/linen.h"

#include <cmath>

#include "engine/base/path.h"
#include "engine/base/random.h"
#include "engine/ops/attention.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/registry.h"
#include "models/initialisers.h"

namespace shardscope {

namespace {

using Kind = InitialiseAttributes::Kind;

}  // namespace

Linen Linen::child(const std::string& module) const {
  Linen scope = *this;
  scope.path_.push_back(module);
  return scope;
}

std::string Linen::label(const std::string& leaf) const {
  std::string path = join_path(path_);
  return path.empty() ? leaf : path + "/" + leaf;
}

ValueId Linen::parameter(const std::string& name, InitialiseAttributes initialiser, int64_t counter,
                         std::vector<std::string> logical) const {
  std::vector<std::string> path{"params"};
  path.insert(path.end(), path_.begin(), path_.end());
  path.push_back(name);
  const bool drawn = initialiser.kind != Kind::constant && initialiser.kind != Kind::sinusoidal;
  if (drawn) initialiser.key = linen_key(key_from_seed(seed_), path_, counter);
  State& state =
      graph_->states[graph_->add_state(op_definition("initialise"), std::move(initialiser), "params", std::move(path))];
  state.trainable = true;
  graph_->values[state.before].logical = std::move(logical);
  return state.before;
}

ValueId Linen::append(const std::string& op, std::vector<ValueId> inputs, Attributes attributes) const {
  OpId id = graph_->add_op(op_definition(op), label(op), Phase::forward, std::move(inputs), std::move(attributes));
  return graph_->ops[id].outputs[0];
}

ValueId Linen::append_like(ValueId x, const std::string& op, std::vector<ValueId> inputs, Attributes attributes) const {
  ValueId made = append(op, std::move(inputs), std::move(attributes));
  graph_->values[made].logical = graph_->values[x].logical;
  return made;
}

ValueId Linen::embed(ValueId tokens, int64_t vocabulary, int64_t features) const {
  double stddev = std::sqrt(1.0 / static_cast<double>(features));
  ValueId table = parameter("embedding", normal_initialiser(stddev, {vocabulary, features}), 1, {"vocab", "embed"});
  ValueId x = append("embedding", {tokens, table});
  graph_->values[x].logical = {"batch", "length", "embed"};
  return x;
}

ValueId Linen::add_positions(ValueId x, const std::string& name, double stddev) const {
  return add_table(x, name, {Kind::normal, stddev, {}, {}});
}

ValueId Linen::add_sinusoidal_positions(ValueId x, const std::string& name) const {
  return add_table(x, name, {Kind::sinusoidal, 10000, {}, {}});
}

ValueId Linen::add_table(ValueId x, const std::string& name, InitialiseAttributes initialiser) const {
  const Shape shape = graph_->type(x).shape;
  initialiser.type = {{shape[1], shape[2]}, DType::f32};
  ValueId positions = parameter(name, std::move(initialiser), 1, {"length", "embed"});
  return append_like(x, "add", {x, positions}, EquationAttributes{"bse,se->bse"});
}

ValueId Linen::dense(ValueId x, const Equation& equation, Shape kernel_shape, std::vector<std::string> logical,
                     bool use_bias) const {
  int64_t fan_in = 1;
  Shape bias_shape;
  std::string bias_labels;
  std::vector<std::string> bias_logical;
  for (size_t d = 0; d < kernel_shape.size(); ++d) {
    char dimension = equation.operands[1][d];
    if (equation.result.find(dimension) == std::string::npos) {
      fan_in *= kernel_shape[d];
    } else {
      bias_shape.push_back(kernel_shape[d]);
      bias_labels += dimension;
      bias_logical.push_back(logical[d]);
    }
  }
  std::vector<std::string> result_logical;
  for (char label : equation.result) {
    const size_t of_x = equation.operands[0].find(label);
    const std::vector<std::string>& names = graph_->values[x].logical;
    if (of_x == std::string::npos) {
      result_logical.push_back(logical[equation.operands[1].find(label)]);
    } else {
      result_logical.push_back(of_x < names.size() ? names[of_x] : std::string());
    }
  }
  ValueId kernel = parameter("kernel", lecun_normal(fan_in, std::move(kernel_shape)), 1, std::move(logical));
  ValueId bias =
      use_bias ? parameter("bias", constant_initialiser(0, std::move(bias_shape)), 2, std::move(bias_logical)) : no_id;
  ValueId product = append("einsum", {x, kernel}, EquationAttributes{equation});
  graph_->values[product].logical = std::move(result_logical);
  if (!use_bias) return product;
  return append_like(product, "add", {product, bias},
                     EquationAttributes{Equation({equation.result, bias_labels}, equation.result)});
}

ValueId Linen::layer_norm(ValueId x) const {
  int64_t features = graph_->type(x).shape.back();
  ValueId scale = parameter("scale", constant_initialiser(1, {features}), 1, {"embed"});
  ValueId bias = parameter("bias", constant_initialiser(0, {features}), 2, {"embed"});
  OpId moments = graph_->add_op(op_definition("layer_norm_moments"), label("layer_norm_moments"), Phase::forward, {x});
  std::vector<ValueId> sums = graph_->ops[moments].outputs;
  return append_like(x, "layer_norm", {x, sums[0], sums[1], scale, bias}, LayerNormAttributes{1e-6, features});
}

ValueId Linen::gelu(ValueId x) const { return append_like(x, "gelu", {x}); }

DropoutAttributes Linen::dropout_of(const std::vector<std::string>& path) const {
  if (rate_ == 0) return {};
  return {rate_, {key_from_seed(seed_), 1, 0, linen_fold(path, 1)}};
}

ValueId Linen::dropout(ValueId x, int index) const {
  if (rate_ == 0) return x;
  Linen scope = child("Dropout_" + std::to_string(index));
  return scope.append_like(x, "dropout", {x}, dropout_of(scope.path_));
}

ValueId Linen::self_attention(ValueId x, ValueId valid, int64_t heads) const {
  return attend(x, {valid, valid}, heads, true, true);
}

ValueId Linen::open_self_attention(ValueId x, int64_t heads) const { return attend(x, {}, heads, false, false); }

ValueId Linen::attend(ValueId x, const std::vector<ValueId>& masks, int64_t heads, bool causal, bool use_bias) const {
  int64_t features = graph_->type(x).shape.back();
  int64_t head_size = features / heads;
  auto project = [&](const char* name) {
    return child(name).dense(x, "bse,ehd->bshd", {features, heads, head_size}, {"embed", "heads", "kv"}, use_bias);
  };
  ValueId query = project("query"), key = project("key"), value = project("value");
  std::vector<ValueId> operands{query, key, value};
  operands.insert(operands.end(), masks.begin(), masks.end());
  ValueId context = append_like(query, "attention", operands, AttentionAttributes{causal, dropout_of(path_)});
  return child("out").dense(context, "bshd,hde->bse", {heads, head_size, features}, {"heads", "kv", "embed"}, use_bias);
}

ValueId Linen::residual(ValueId x, ValueId y) const {
  return append_like(y, "add", {x, y}, sum_attributes(graph_->type(x)));
}

}  // namespace shardscope
