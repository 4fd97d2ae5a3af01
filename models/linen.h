#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// Builds the forward pass of Flax Linen modules: same parameter tree, shapes, initializers and random keys. A module is
// a value; child modules extend its path.
//
// Example: Linen model(graph); Linen mlp = model.child("MLP_0"); y = mlp.child("Dense_0").dense(x, "bse,ef->bsf", {512,
// 2048}); makes params/MLP_0/Dense_0/kernel and bias.
class Linen {
 public:
  struct Dropout {
    double rate = 0;  // 0: none
    int64_t seed = 0;
  };

  Linen(Graph& graph, Dropout dropout) : graph_(&graph), dropout_(dropout) {}
  Linen child(const std::string& module) const;

  // flax.linen.Embed: tokens i32 (b, s) -> (b, s, features); table normal with variance 1 / features.
  ValueId embed(ValueId tokens, int64_t vocabulary, int64_t features) const;
  // A learned (s, e) array added to x (b, s, e): self.param(name, normal(stddev)).
  ValueId add_positions(ValueId x, const std::string& name, double stddev) const;
  // flax.linen.Dense and DenseGeneral: einsum with a lecun_normal kernel of `kernel_shape`, whose fan-in is the product
  // of the dimensions that `equation` contracts, and a zero bias over the kernel dimensions that remain.
  ValueId dense(ValueId x, const std::string& equation, Shape kernel_shape, bool use_bias = true) const;
  // flax.linen.LayerNorm over the last dimension, epsilon 1e-6.
  ValueId layer_norm(ValueId x) const;
  ValueId gelu(ValueId x) const;
  // flax.linen.Dropout as module "Dropout_n" of this one; x where the rate is 0.
  ValueId dropout(ValueId x, int index) const;
  // flax.linen.SelfAttention on x (b, s, e) with a causal mask and a padding mask (tokens > 0).
  ValueId self_attention(ValueId x, ValueId tokens, int64_t heads) const;
  ValueId residual(ValueId x, ValueId y) const;

 private:
  ValueId parameter(const std::string& name, Shape shape, Initializer initializer, int64_t counter) const;
  ValueId append(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) const;
  std::string label(const std::string& leaf) const;
  void add_dropout(Attributes& attributes, const std::vector<std::string>& path) const;

  Graph* graph_;
  Dropout dropout_;
  std::vector<std::string> path_;
};

}  // namespace shardscope
