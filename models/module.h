#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/attention.h"
#include "engine/ops/equation.h"
#include "engine/ops/initialise.h"

namespace shardscope {

// A module of a network under construction: appends parameters and ops under its path to a graph. Children extend the
// path. Knows no convention of random keys: initialisers come with their keys.
//
// Products are made in the compute type: operands of another one are cast, and results stay in it. An array is cast to
// a type once in a layer, for all that use it there.
//
// Example: Module mlp = Module(graph).child("mlp"); mlp.product(x, mlp.parameter("w1", ...), "bse,ef->bsf") makes
// params/mlp/w1 and op mlp/w1/einsum.
class Module {
 public:
  explicit Module(Graph& graph, DType compute = DType::f32) : graph_(&graph), compute_(compute) {}
  Module child(const std::string& name) const;
  Graph& graph() const { return *graph_; }
  const std::vector<std::string>& path() const { return path_; }

  // params/<path>/<name>; `logical` names its dimensions.
  ValueId parameter(const std::string& name, InitialiseAttributes initialiser, std::vector<std::string> logical) const;

  // Ops, named <path>/<leaf>, or as the op where there is no leaf. Dimensions of results are called as those of the
  // first operand, where they are as many.
  std::vector<ValueId> append_all(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {},
                                  const std::string& leaf = "") const;
  ValueId append(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {},
                 const std::string& leaf = "") const;
  // An einsum of two operands; dimensions of the result are called as in the operand that they stem from. `sizes`: of
  // letters that the operands leave open.
  ValueId product(ValueId x, ValueId kernel, const Equation& equation, const std::string& leaf = "einsum",
                  std::vector<std::pair<char, int64_t>> sizes = {}) const;
  // x + y, where y has the last dimensions of x: a bias, or all of them: a residual. Of x's type.
  ValueId add(ValueId x, ValueId y, const std::string& leaf = "add") const;
  // Op attention of (query, key, value, masks), that part of its layer: the context and the scores' log-sum-exp.
  std::vector<ValueId> attention(std::vector<ValueId> operands, AttentionAttributes attributes) const;
  // Layer norm over the last dimension, epsilon 1e-6, with Flax's fast variance.
  ValueId layer_norm(ValueId x, ValueId scale, ValueId bias) const;
  ValueId cast(ValueId x, DType to, const std::string& leaf = "cast") const;
  // x as an operand of products of this name, and as what products give: of f8 operands bf16.
  ValueId as_operand(ValueId x, const std::string& product) const;
  ValueId as_result(ValueId x, const std::string& leaf) const;

 private:
  std::string label(const std::string& leaf) const;

  Graph* graph_;
  DType compute_;
  std::vector<std::string> path_;
};

}  // namespace shardscope
