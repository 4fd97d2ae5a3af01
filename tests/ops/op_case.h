#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/registry.h"

namespace shardscope::test {

// An op with operands that fit it. `differentiable` are the operands that its gradient gives a cotangent.
struct OpCase {
  std::string op;
  std::vector<TensorType> operands;
  Attributes attributes;
  std::vector<int> differentiable;

  const OpDefinition& definition() const { return op_definition(op); }
  std::vector<TensorType> results() const { return definition().infer(attributes, operands); }
  FactorRule rule() const { return definition().factors(attributes, operands, results()); }
};

inline TensorType array(Shape shape) { return {std::move(shape), DType::f32}; }
inline TensorType tokens(Shape shape) { return {std::move(shape), DType::i32}; }
inline Attributes equation(const std::string& text) { return {{"equation", text}}; }

// At least one case of every op in the registry. All sizes are multiples of 12 or 6, so that small meshes divide them.
inline std::vector<OpCase> op_cases() {
  const TensorType x = array({12, 6, 24}), rows = array({12, 6}), scale = array({24});
  const TensorType query = array({12, 6, 12, 24}), key = array({12, 18, 12, 24});
  const Attributes attention{{"causal", int64_t{1}},
                             {"padding", int64_t{1}},
                             {"dropout_rate", 0.0},
                             {"seed", int64_t{0}},
                             {"dropout_fold", int64_t{7}}};
  const Attributes norm{{"epsilon", 1e-6}, {"features", int64_t{24}}};
  const Attributes adam{{"learning_rate", 1e-3}, {"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-8}};
  const Attributes dropout{{"dropout_rate", 0.5}, {"seed", int64_t{0}}, {"dropout_fold", int64_t{7}}};
  return {{"embedding", {tokens({12, 6}), array({36, 24})}, {}, {1}},
          {"embedding_grad", {tokens({12, 6}), x}, {{"vocabulary", int64_t{36}}}, {}},
          {"einsum", {x, array({24, 12})}, equation("bse,ef->bsf"), {0, 1}},
          {"einsum", {x, array({24, 6, 12})}, equation("bse,ehd->bshd"), {0, 1}},
          {"einsum", {query, array({12, 24, 18})}, equation("bshd,hde->bse"), {0, 1}},
          {"einsum", {x, x}, equation("bse,bsf->ef"), {}},
          {"add", {x, x}, equation("bse,bse->bse"), {0, 1}},
          {"add", {x, scale}, equation("bse,e->bse"), {0, 1}},
          {"add", {x, array({6, 24})}, equation("bse,se->bse"), {0, 1}},
          {"add", {x, array({})}, equation("bse,->bse"), {0, 1}},
          {"reduce_sum", {x}, equation("bse->se"), {}},
          {"gelu", {x}, {}, {0}},
          {"gelu", {array({6, 12})}, {}, {0}},
          {"gelu_grad", {x, x}, {}, {}},
          {"layer_norm_moments", {x}, {}, {}},
          {"layer_norm", {x, rows, rows, scale, scale}, norm, {0, 3, 4}},
          {"layer_norm_grad_moments", {x, x, rows, rows, scale}, norm, {}},
          {"layer_norm_grad_input", {x, x, rows, rows, scale, rows, rows}, norm, {}},
          {"layer_norm_grad_parameters", {x, x, rows, rows}, norm, {}},
          {"attention", {query, key, key, tokens({12, 6}), tokens({12, 18})}, attention, {0, 1, 2}},
          {"attention_grad",
           {query, key, key, tokens({12, 6}), tokens({12, 18}), query, array({12, 12, 6}), query},
           attention,
           {}},
          {"dropout", {x}, dropout, {0}},
          {"cross_entropy", {x, tokens({12, 6})}, {{"scale", 0.5}}, {0}},
          {"cross_entropy_grad", {x, tokens({12, 6}), rows}, {{"scale", 0.5}}, {}},
          {"adam", {x, x, x, x}, adam, {}}};
}

}  // namespace shardscope::test
