#include "models/linen.h"

#include <cmath>

#include "engine/base/random.h"
#include "engine/ops/equation.h"
#include "engine/ops/registry.h"

namespace shardscope {

namespace {

std::string join(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "" : "/") + part;
  return text;
}

}  // namespace

Linen Linen::child(const std::string& module) const {
  Linen scope = *this;
  scope.path_.push_back(module);
  return scope;
}

std::string Linen::label(const std::string& leaf) const {
  std::string path = join(path_);
  return path.empty() ? leaf : path + "/" + leaf;
}

ValueId Linen::parameter(const std::string& name, Shape shape, Initializer initializer, int64_t counter) const {
  std::vector<std::string> path{"params"};
  path.insert(path.end(), path_.begin(), path_.end());
  path.push_back(name);
  initializer.key_path = path_;
  initializer.key_counter = counter;
  Parameter parameter;
  parameter.value = graph_->add_source(join(path), {std::move(shape), DType::f32}, ValueKind::parameter);
  parameter.path = std::move(path);
  parameter.initializer = std::move(initializer);
  graph_->parameters.push_back(std::move(parameter));
  return graph_->parameters.back().value;
}

ValueId Linen::append(const std::string& op, std::vector<ValueId> inputs, Attributes attributes) const {
  OpId id = graph_->add_op(op_definition(op), label(op), Phase::forward, std::move(inputs), std::move(attributes));
  return graph_->ops[id].outputs[0];
}

ValueId Linen::embed(ValueId tokens, int64_t vocabulary, int64_t features) const {
  double stddev = std::sqrt(1.0 / static_cast<double>(features));
  ValueId table = parameter("embedding", {vocabulary, features}, {Initializer::Kind::normal, stddev, 0, {}, 1}, 1);
  return append("embedding", {tokens, table});
}

ValueId Linen::add_positions(ValueId x, const std::string& name, double stddev) const {
  const Shape shape = graph_->type(x).shape;
  ValueId positions = parameter(name, {shape[1], shape[2]}, {Initializer::Kind::normal, stddev, 0, {}, 1}, 1);
  return append("add", {x, positions}, {{"equation", "bse,se->bse"}});
}

ValueId Linen::dense(ValueId x, const std::string& equation, Shape kernel_shape, bool use_bias) const {
  Attributes attributes{{"equation", equation}};
  Equation parsed = parse_equation(attributes, 2);
  Initializer initializer{Initializer::Kind::lecun_normal, 0, 1, {}, 1};
  Shape bias_shape;
  std::string bias_labels;
  for (size_t d = 0; d < kernel_shape.size(); ++d) {
    char dimension = parsed.operands[1][d];
    if (parsed.result.find(dimension) == std::string::npos) {
      initializer.fan_in *= kernel_shape[d];
    } else {
      bias_shape.push_back(kernel_shape[d]);
      bias_labels += dimension;
    }
  }
  ValueId kernel = parameter("kernel", std::move(kernel_shape), initializer, 1);
  ValueId bias = use_bias ? parameter("bias", std::move(bias_shape), {}, 2) : no_id;
  ValueId product = append("einsum", {x, kernel}, attributes);
  if (!use_bias) return product;
  return append("add", {product, bias}, {{"equation", parsed.result + "," + bias_labels + "->" + parsed.result}});
}

ValueId Linen::layer_norm(ValueId x) const {
  int64_t features = graph_->type(x).shape.back();
  ValueId scale = parameter("scale", {features}, {Initializer::Kind::ones, 0, 0, {}, 1}, 1);
  ValueId bias = parameter("bias", {features}, {}, 2);
  OpId moments = graph_->add_op(op_definition("layer_norm_moments"), label("layer_norm_moments"), Phase::forward, {x});
  std::vector<ValueId> sums = graph_->ops[moments].outputs;
  return append("layer_norm", {x, sums[0], sums[1], scale, bias}, {{"epsilon", 1e-6}, {"features", features}});
}

ValueId Linen::gelu(ValueId x) const { return append("gelu", {x}); }

void Linen::add_dropout(Attributes& attributes, const std::vector<std::string>& path) const {
  attributes["dropout_rate"] = dropout_.rate;
  attributes["seed"] = dropout_.seed;
  attributes["dropout_fold"] = static_cast<int64_t>(linen_fold(path, 1));
}

ValueId Linen::dropout(ValueId x, int index) const {
  if (dropout_.rate == 0) return x;
  Linen scope = child("Dropout_" + std::to_string(index));
  Attributes attributes;
  add_dropout(attributes, scope.path_);
  return scope.append("dropout", {x}, attributes);
}

ValueId Linen::self_attention(ValueId x, ValueId tokens, int64_t heads) const {
  int64_t features = graph_->type(x).shape.back();
  int64_t head_size = features / heads;
  auto project = [&](const char* name) { return child(name).dense(x, "bse,ehd->bshd", {features, heads, head_size}); };
  ValueId query = project("query"), key = project("key"), value = project("value");
  Attributes attributes{{"causal", int64_t{1}}, {"padding", int64_t{1}}};
  add_dropout(attributes, path_);
  ValueId context = append("attention", {query, key, value, tokens, tokens}, attributes);
  return child("out").dense(context, "bshd,hde->bse", {heads, head_size, features});
}

ValueId Linen::residual(ValueId x, ValueId y) const { return append("add", {x, y}, {{"equation", "bse,bse->bse"}}); }

}  // namespace shardscope
