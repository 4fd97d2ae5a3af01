#pragma once

#include <string>
#include <vector>

#include "models/module.h"
#include "models/nnx_rngs.h"

namespace shardscope {

// Builds Flax NNX modules: same names, shapes, initialisers and random keys. Keys are drawn when a module is
// constructed; here construction and call are one, so modules are to be called in the order in which the original
// constructs them. Dimensions get logical names as in models/linen.h.
//
// With a compute type, linear layers multiply in it, and give results of the type of their operand: "mixed precision".
//
// Example: NnxRngs rngs(seed); Nnx model(Module(graph), rngs); y = model.child("linear1").linear(x, 1024, "mlp",
// xavier_uniform) makes params/linear1/kernel and bias, from the first two keys.
class Nnx {
 public:
  // The first value of a kernel of these fans.
  using KernelInitialiser = InitialiseAttributes (*)(int64_t fan_in, int64_t fan_out, Shape shape);

  // `dropout_rate` 0: nothing is dropped, but keys are drawn all the same. `rngs` outlives the modules.
  Nnx(Module module, NnxRngs& rngs, double dropout_rate = 0) : module_(module), rngs_(&rngs), rate_(dropout_rate) {}
  Nnx child(const std::string& name) const { return {module_.child(name), *rngs_, rate_}; }
  Graph& graph() const { return module_.graph(); }

  // nnx.Embed(count, features) of ids i32 (b, s).
  ValueId embed(ValueId ids, int64_t count, int64_t features) const;
  // nnx.Embed.attend: x (b, s, e) times the table from which `embedded` was taken -> (b, s, count).
  ValueId attend(ValueId x, ValueId embedded) const;
  // x (b, s, e) + nnx.Embed(s, e)(arange(s)).
  ValueId add_positions(ValueId x) const;
  // nnx.LayerNorm, epsilon 1e-6.
  ValueId layer_norm(ValueId x) const;
  // nnx.Linear: x (b, s, i) -> (b, s, features), the new dimension called `logical`.
  ValueId linear(ValueId x, int64_t features, const std::string& logical, KernelInitialiser initialiser,
                 bool use_bias = true) const;
  // nnx.MultiHeadAttention(decode=False) of x (b, s, e) to itself with a causal mask.
  ValueId causal_self_attention(ValueId x, int64_t heads, KernelInitialiser initialiser) const;
  // nnx.Dropout(rate, rngs=rngs), called once a step.
  ValueId dropout(ValueId x) const;
  ValueId gelu(ValueId x) const { return module_.append("gelu", {x}); }
  ValueId residual(ValueId x, ValueId y) const { return module_.add(x, y); }

 private:
  // nnx.LinearGeneral: a kernel of which the dimensions that `equation` contracts are the fan-in, and the others are
  // the fan-out and the shape of the bias.
  ValueId linear_general(ValueId x, const Equation& equation, Shape kernel_shape, std::vector<std::string> logical,
                         KernelInitialiser initialiser, bool use_bias = true) const;

  Module module_;
  NnxRngs* rngs_;
  double rate_;
};

// nnx.nn.linear.default_kernel_init.
InitialiseAttributes nnx_default_kernel(int64_t fan_in, int64_t fan_out, Shape shape);

}  // namespace shardscope
