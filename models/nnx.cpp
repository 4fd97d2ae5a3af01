#include "models/nnx.h"

#include <cmath>

#include "engine/ops/attention.h"
#include "models/initialisers.h"

namespace shardscope {

ValueId Nnx::embed(ValueId ids, int64_t count, int64_t features) const {
  const double stddev = std::sqrt(1.0 / static_cast<double>(features));
  const ValueId table =
      module_.parameter("embedding", rngs_->draw(normal_initialiser(stddev, {count, features})), {"vocab", "embed"});
  const ValueId x = module_.append("embedding", {ids, table});
  module_.graph().values[x].logical = {"batch", "length", "embed"};
  return x;
}

ValueId Nnx::attend(ValueId x, ValueId embedded) const {
  const Graph& graph = module_.graph();
  const ValueId table = graph.ops[graph.values[embedded].producer].inputs[1];
  return module_.cast(module_.product(x, table, "bse,ve->bsv", "attend"), graph.type(x).dtype);
}

ValueId Nnx::add_positions(ValueId x) const {
  const Shape shape = module_.graph().type(x).shape;
  const double stddev = std::sqrt(1.0 / static_cast<double>(shape[2]));
  const ValueId table = module_.parameter("embedding", rngs_->draw(normal_initialiser(stddev, {shape[1], shape[2]})),
                                          {"length", "embed"});
  return module_.add(x, table);
}

ValueId Nnx::layer_norm(ValueId x) const {
  const int64_t features = module_.graph().type(x).shape.back();
  const ValueId scale = module_.parameter("scale", rngs_->skip(constant_initialiser(1, {features})), {"embed"});
  const ValueId bias = module_.parameter("bias", rngs_->skip(constant_initialiser(0, {features})), {"embed"});
  return module_.layer_norm(x, scale, bias);
}

ValueId Nnx::linear(ValueId x, int64_t features, const std::string& logical, KernelInitialiser initialiser,
                    bool use_bias) const {
  const Value& value = module_.graph().values[x];
  return linear_general(x, "bsi,io->bso", {value.type.shape[2], features}, {value.logical[2], logical}, initialiser,
                        use_bias);
}

ValueId Nnx::linear_general(ValueId x, const Equation& equation, Shape kernel_shape, std::vector<std::string> logical,
                            KernelInitialiser initialiser, bool use_bias) const {
  int64_t fan_in = 1, fan_out = 1;
  Shape bias_shape;
  std::vector<std::string> bias_logical;
  for (size_t d = 0; d < kernel_shape.size(); ++d) {
    const bool contracted = equation.result.find(equation.operands[1][d]) == std::string::npos;
    (contracted ? fan_in : fan_out) *= kernel_shape[d];
    if (contracted) continue;
    bias_shape.push_back(kernel_shape[d]);
    bias_logical.push_back(logical[d]);
  }
  const ValueId kernel =
      module_.parameter("kernel", rngs_->draw(initialiser(fan_in, fan_out, kernel_shape)), std::move(logical));
  const ValueId product = module_.cast(module_.product(x, kernel, equation), module_.graph().type(x).dtype);
  if (!use_bias) return product;
  const ValueId bias =
      module_.parameter("bias", rngs_->skip(constant_initialiser(0, bias_shape)), std::move(bias_logical));
  return module_.add(product, bias);
}

ValueId Nnx::causal_self_attention(ValueId x, int64_t heads, KernelInitialiser initialiser) const {
  const int64_t features = graph().type(x).shape[2], head_size = features / heads;
  std::vector<ValueId> operands;
  for (const char* name : {"query", "key", "value"}) {
    operands.push_back(child(name).linear_general(x, "bse,ehd->bshd", {features, heads, head_size},
                                                  {"embed", "heads", "kv"}, initialiser));
  }
  const ValueId context = module_.attention(operands, {true, {}})[0];
  return child("out").linear_general(context, "bshd,hde->bse", {heads, head_size, features}, {"heads", "kv", "embed"},
                                     initialiser);
}

ValueId Nnx::dropout(ValueId x) const {
  const Key stream = rngs_->params();
  return rate_ == 0 ? x : module_.append("dropout", {x}, DropoutAttributes{rate_, {stream, 1, 0, {}}});
}

InitialiseAttributes nnx_default_kernel(int64_t fan_in, int64_t, Shape shape) { return lecun_normal(fan_in, shape); }

}  // namespace shardscope
