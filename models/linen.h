#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/dropout.h"
#include "engine/ops/equation.h"
#include "engine/ops/initialise.h"
#include "models/module.h"

namespace shardscope {

// Builds the forward pass of Flax Linen modules: same parameter tree, shapes, initializers and random keys. A module is
// a value; child modules extend its path. Dimensions get logical names: "vocab", "embed", "mlp", "heads", "kv" (the
// size of a head) of parameters, and "batch", "length" besides of activations.
//
// With a compute type, dense layers multiply in it, and give results of the type of their operand: "mixed precision".
//
// Example: Linen model(graph, seed); Linen mlp = model.child("MLP_0"); y = mlp.child("Dense_0").dense(x, "bse,ef->bsf",
// {512, 2048}); makes params/MLP_0/Dense_0/kernel and bias.
class Linen {
 public:
  // Keys of parameters and of dropout come from PRNGKey(seed), as those of model.init and of the rngs {"dropout": ...}.
  Linen(Graph& graph, int64_t seed, double dropout_rate = 0, DType compute = DType::f32)
      : module_(graph, compute), seed_(seed), rate_(dropout_rate) {}
  Linen child(const std::string& module) const;
  Graph& graph() const { return module_.graph(); }

  // flax.linen.Embed: tokens i32 (b, s) -> (b, s, features); table normal with variance 1 / features.
  ValueId embed(ValueId tokens, int64_t vocabulary, int64_t features) const;
  // A learned (s, e) array added to x (b, s, e): self.param(name, normal(stddev)).
  ValueId add_positions(ValueId x, const std::string& name, double stddev) const;
  // The same, of which the first value is the table of sines and cosines to the base 10000.
  ValueId add_sinusoidal_positions(ValueId x, const std::string& name) const;
  // flax.linen.Dense and DenseGeneral: einsum with a lecun_normal kernel of `kernel_shape`, whose fan-in is the product
  // of the dimensions that `equation` contracts, and a zero bias over the kernel dimensions that remain.
  // `logical` names the kernel's dimensions; those of the result that stem from x keep x's names.
  ValueId dense(ValueId x, const Equation& equation, Shape kernel_shape, std::vector<std::string> logical,
                bool use_bias = true) const;
  // flax.linen.LayerNorm over the last dimension, epsilon 1e-6.
  ValueId layer_norm(ValueId x) const;
  ValueId gelu(ValueId x) const;
  // flax.linen.Dropout as module "Dropout_n" of this one; x where the rate is 0.
  ValueId dropout(ValueId x, int index) const;
  // flax.linen.SelfAttention on x (b, s, e) with a causal mask and a mask of padding: positions with valid > 0 count.
  ValueId self_attention(ValueId x, ValueId valid, int64_t heads) const;
  // The same without masks and biases.
  ValueId open_self_attention(ValueId x, int64_t heads) const;
  ValueId residual(ValueId x, ValueId y) const;

 private:
  ValueId add_table(ValueId x, const std::string& name, InitialiseAttributes initialiser) const;
  ValueId attend(ValueId x, const std::vector<ValueId>& masks, int64_t heads, bool causal, bool use_bias) const;
  ValueId parameter(const std::string& name, InitialiseAttributes initialiser, int64_t counter,
                    std::vector<std::string> logical) const;
  DropoutAttributes dropout_of(const std::vector<std::string>& path) const;

  Module module_;
  int64_t seed_;
  double rate_;
};

}  // namespace shardscope
