#include "models/linen.h"

#include <cmath>

#include "engine/base/random.h"
#include "engine/ops/attention.h"
#include "models/initialisers.h"

namespace shardscope {

namespace {

using Kind = InitialiseAttributes::Kind;

}  // namespace

Linen Linen::child(const std::string& module) const {
  Linen scope = *this;
  scope.module_ = module_.child(module);
  return scope;
}

ValueId Linen::parameter(const std::string& name, InitialiseAttributes initialiser, int64_t counter,
                         std::vector<std::string> logical) const {
  const bool drawn = initialiser.kind != Kind::constant && initialiser.kind != Kind::sinusoidal;
  if (drawn) initialiser.key = linen_key(key_from_seed(seed_), module_.path(), counter);
  return module_.parameter(name, std::move(initialiser), std::move(logical));
}

ValueId Linen::embed(ValueId tokens, int64_t vocabulary, int64_t features) const {
  double stddev = std::sqrt(1.0 / static_cast<double>(features));
  ValueId table = parameter("embedding", normal_initialiser(stddev, {vocabulary, features}), 1, {"vocab", "embed"});
  ValueId x = module_.append("embedding", {tokens, table});
  module_.graph().values[x].logical = {"batch", "length", "embed"};
  return x;
}

ValueId Linen::add_positions(ValueId x, const std::string& name, double stddev) const {
  return add_table(x, name, {Kind::normal, stddev, {}, {}});
}

ValueId Linen::add_sinusoidal_positions(ValueId x, const std::string& name) const {
  return add_table(x, name, {Kind::sinusoidal, 10000, {}, {}});
}

ValueId Linen::add_table(ValueId x, const std::string& name, InitialiseAttributes initialiser) const {
  const Shape shape = module_.graph().type(x).shape;
  initialiser.type = {{shape[1], shape[2]}, DType::f32};
  ValueId positions = parameter(name, std::move(initialiser), 1, {"length", "embed"});
  return module_.add(x, positions);
}

ValueId Linen::dense(ValueId x, const Equation& equation, Shape kernel_shape, std::vector<std::string> logical,
                     bool use_bias) const {
  int64_t fan_in = 1;
  Shape bias_shape;
  std::vector<std::string> bias_logical;
  for (size_t d = 0; d < kernel_shape.size(); ++d) {
    if (equation.result.find(equation.operands[1][d]) == std::string::npos) {
      fan_in *= kernel_shape[d];
    } else {
      bias_shape.push_back(kernel_shape[d]);
      bias_logical.push_back(logical[d]);
    }
  }
  ValueId kernel = parameter("kernel", lecun_normal(fan_in, std::move(kernel_shape)), 1, std::move(logical));
  ValueId bias =
      use_bias ? parameter("bias", constant_initialiser(0, std::move(bias_shape)), 2, std::move(bias_logical)) : no_id;
  const ValueId product = module_.cast(module_.product(x, kernel, equation), module_.graph().type(x).dtype);
  return use_bias ? module_.add(product, bias) : product;
}

ValueId Linen::layer_norm(ValueId x) const {
  int64_t features = module_.graph().type(x).shape.back();
  ValueId scale = parameter("scale", constant_initialiser(1, {features}), 1, {"embed"});
  ValueId bias = parameter("bias", constant_initialiser(0, {features}), 2, {"embed"});
  return module_.layer_norm(x, scale, bias);
}

ValueId Linen::gelu(ValueId x) const { return module_.append("gelu", {x}); }

DropoutAttributes Linen::dropout_of(const std::vector<std::string>& path) const {
  if (rate_ == 0) return {};
  return {rate_, {key_from_seed(seed_), 1, 0, linen_fold(path, 1)}};
}

ValueId Linen::dropout(ValueId x, int index) const {
  if (rate_ == 0) return x;
  const Module scope = module_.child("Dropout_" + std::to_string(index));
  return scope.append("dropout", {x}, dropout_of(scope.path()));
}

ValueId Linen::self_attention(ValueId x, ValueId valid, int64_t heads) const {
  return attend(x, {valid, valid}, heads, true, true);
}

ValueId Linen::open_self_attention(ValueId x, int64_t heads) const { return attend(x, {}, heads, false, false); }

ValueId Linen::attend(ValueId x, const std::vector<ValueId>& masks, int64_t heads, bool causal, bool use_bias) const {
  int64_t features = module_.graph().type(x).shape.back();
  int64_t head_size = features / heads;
  auto project = [&](const char* name) {
    return child(name).dense(x, "bse,ehd->bshd", {features, heads, head_size}, {"embed", "heads", "kv"}, use_bias);
  };
  ValueId query = project("query"), key = project("key"), value = project("value");
  std::vector<ValueId> operands{query, key, value};
  operands.insert(operands.end(), masks.begin(), masks.end());
  const ValueId context = module_.attention(operands, {causal, dropout_of(module_.path())})[0];
  return child("out").dense(context, "bshd,hde->bse", {heads, head_size, features}, {"heads", "kv", "embed"}, use_bias);
}

ValueId Linen::residual(ValueId x, ValueId y) const { return module_.add(x, y); }

}  // namespace shardscope
