#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/adam.h"
#include "engine/ops/attention.h"
#include "engine/ops/cast.h"
#include "engine/ops/clip.h"
#include "engine/ops/constant.h"
#include "engine/ops/conv.h"
#include "engine/ops/dispatch.h"
#include "engine/ops/embedding.h"
#include "engine/ops/equation.h"
#include "engine/ops/expert_linear.h"
#include "engine/ops/expert_load.h"
#include "engine/ops/global_norm.h"
#include "engine/ops/grouped_linear.h"
#include "engine/ops/initialise.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/lion.h"
#include "engine/ops/momentum_sgd.h"
#include "engine/ops/registry.h"
#include "engine/ops/ring_attention.h"
#include "engine/ops/rotary.h"
#include "engine/ops/scale.h"
#include "engine/ops/sgd.h"
#include "engine/ops/soft_cap.h"
#include "engine/ops/split.h"
#include "engine/ops/stack.h"
#include "engine/ops/top_k.h"
#include "engine/ops/zigzag.h"

namespace shardscope::test {

// An op with operands that fit it. `differentiable` are the operands that its gradient gives a cotangent.
struct OpCase {
  std::string op;
  std::vector<TensorType> operands;
  Attributes attributes;
  std::vector<int> differentiable;

  const OpDefinition& definition() const { return op_definition(op); }
  std::vector<TensorType> results() const { return definition().infer(attributes, operands).results; }
  FactorRule rule() const { return definition().infer(attributes, operands).rule; }
};

inline TensorType array(Shape shape) { return {std::move(shape), DType::f32}; }
inline TensorType half(Shape shape) { return {std::move(shape), DType::bf16}; }
inline TensorType tokens(Shape shape) { return {std::move(shape), DType::i32}; }
inline Attributes equation(const std::string& text, std::vector<std::pair<char, int64_t>> sizes = {}) {
  return EquationAttributes{text, std::move(sizes)};
}

// Pictures of 6 x 7 under windows of 3 x 2.
inline ConvAttributes conv(int64_t stride, ConvPadding padding) {
  return {conv_dimension(6, 3, stride, padding), conv_dimension(7, 2, stride, padding)};
}
inline TensorType conv_result(const ConvAttributes& conv, int64_t pictures, int64_t features) {
  return array({pictures, conv.height.output, conv.width.output, features});
}

// At least one case of every op in the registry. All sizes are multiples of 12 or 6, so that small meshes divide them.
inline std::vector<OpCase> op_cases() {
  const TensorType x = array({12, 6, 24}), rows = array({12, 6}), scale = array({24}), scalar = array({});
  const TensorType query = array({12, 6, 12, 24}), key = array({12, 18, 12, 24}), shared = array({12, 18, 6, 24});
  const TensorType lse = array({12, 12, 6}), queries = tokens({12, 6}), keys = tokens({12, 18});
  const ConvAttributes same = conv(1, ConvPadding::same), valid = conv(2, ConvPadding::valid);
  const TensorType picture = array({12, 6, 7, 6}), window = array({3, 2, 6, 24});
  const StepKey step_key{{0, 1}, 1, 0, 7};
  const AttentionAttributes attention{true, {0, step_key}};
  const LayerNormAttributes norm{1e-6, 24};
  const ScaleAttributes mean{0.5};
  const InitialiseAttributes normal{InitialiseAttributes::Kind::normal, 0.02, {0, 1}, {{12, 24}, DType::f32}};
  const InitialiseAttributes sinusoidal{InitialiseAttributes::Kind::sinusoidal, 1e4, {}, {{12, 24}, DType::f32}};
  const TensorType ring_query = array({12, 12, 12, 24}), ring_key = array({12, 12, 6, 24});
  const TensorType ring_lse = array({12, 12, 12});
  const RingAttributes ring{{true, {}}, 6, 12, 2};
  // Six blocks of four tokens along the batch, three of them along the length, for experts in two blocks of six.
  const DispatchAttributes blocks{12, 2, 6, 3, 18, false};
  const TensorType choices = tokens({12, 6, 6}), counts = tokens({18, 2, 6}), sent = array({18, 2, 18, 24});
  return {{"embedding", {tokens({12, 6}), array({36, 24})}, {}, {1}},
          {"embedding", {tokens({12, 6}), half({36, 24})}, {}, {1}},
          {"embedding_grad", {tokens({12, 6}), x}, EmbeddingGradAttributes{36}, {}},
          {"einsum", {x, array({24, 12})}, equation("bse,ef->bsf"), {0, 1}},
          {"einsum", {half(x.shape), half({24, 12})}, equation("bse,ef->bsf"), {0, 1}},
          {"einsum", {x, array({24, 6, 12})}, equation("bse,ehd->bshd"), {0, 1}},
          {"einsum", {query, array({12, 24, 18})}, equation("bshd,hde->bse"), {0, 1}},
          {"einsum", {x, x}, equation("bse,bsf->ef"), {}},
          {"add", {x, x}, equation("bse,bse->bse"), {0, 1}},
          {"add", {half(x.shape), half({24})}, equation("bse,e->bse"), {0, 1}},
          {"add", {x, scale}, equation("bse,e->bse"), {0, 1}},
          {"add", {x, array({6, 24})}, equation("bse,se->bse"), {0, 1}},
          {"add", {x, scalar}, equation("bse,->bse"), {0, 1}},
          {"add", {scalar, scalar}, sum_attributes(scalar), {0, 1}},
          {"conv", {picture, window}, same, {0, 1}},
          {"conv", {picture, window}, valid, {0, 1}},
          {"conv_grad_input", {conv_result(same, 12, 24), window}, same, {}},
          {"conv_grad_kernel", {picture, conv_result(valid, 12, 24)}, valid, {}},
          {"reduce_sum", {x}, equation("bse->se"), {}},
          {"rearrange", {x}, equation("bs(hd)->bshd", {{'h', 12}}), {0}},
          {"rearrange", {query}, equation("bshd->bs(hd)"), {0}},
          {"rearrange", {query}, equation("bshd->(bs)(dh)"), {0}},
          {"rearrange", {tokens({12, 6})}, equation("bs->sb"), {}},
          {"stack", {x, x, x}, StackAttributes{2, 3}, {0, 1, 2}},
          {"unstack", {array({12, 6, 3, 24})}, StackAttributes{2, 3}, {0}},
          {"unstack", {half({12, 6, 3, 24})}, StackAttributes{2, 3}, {0}},
          {"next_token", {tokens({12, 6})}, {}, {}},
          {"scale", {x}, ScaleAttributes{3}, {0}},
          {"scale", {scalar}, ScaleAttributes{3}, {0}},
          {"accumulate", {x}, ScaleAttributes{0.25}, {}},
          {"accumulate", {scalar}, ScaleAttributes{0.25}, {}},
          {"cast", {x}, CastAttributes{DType::bf16}, {0}},
          {"cast", {half(x.shape)}, CastAttributes{DType::f32}, {0}},
          {"constant", {}, ConstantAttributes{1, scalar}, {}},
          {"constant", {}, ConstantAttributes{2.5, x}, {}},
          {"initialise", {}, normal, {}},
          {"initialise", {}, sinusoidal, {}},
          {"gelu", {x}, {}, {0}},
          {"gelu", {array({6, 12})}, {}, {0}},
          {"gelu_grad", {x, x}, {}, {}},
          {"relu", {x}, {}, {0}},
          {"relu_grad", {x, x}, {}, {}},
          {"silu", {x}, {}, {0}},
          {"silu_grad", {x, x}, {}, {}},
          {"gelu_exact", {x}, {}, {0}},
          {"gelu_exact_grad", {x, x}, {}, {}},
          {"multiply", {x, x}, {}, {0, 1}},
          {"soft_cap", {x}, SoftCapAttributes{0.5}, {0}},
          {"soft_cap_grad", {x, x}, SoftCapAttributes{3}, {}},
          {"clip", {x}, ClipBoundsAttributes{-0.5, 0.7}, {0}},
          {"clip_grad", {x, x}, ClipBoundsAttributes{-0.5, 0.7}, {}},
          {"split", {x}, SplitAttributes{2, {6, 18}}, {0}},
          {"concatenate", {x, x}, SplitAttributes{2, {24, 24}}, {0, 1}},
          {"rotary", {query}, RotaryAttributes{{1.0f, 0.25f, 0.125f}, 1.5f, false, false}, {0}},
          {"zigzag", {tokens({12, 12})}, ZigzagAttributes{6, 1, false}, {}},
          {"zigzag", {x}, ZigzagAttributes{6, 0, true}, {0}},
          {"roll", {query}, RollAttributes{6, 1}, {0}},
          {"attention_block", {ring_query, ring_key, ring_key}, ring, {}},
          {"attention_block_grad", {ring_query, ring_key, ring_key, ring_query, ring_lse, ring_query}, ring, {}},
          {"merge_attention", {ring_query, ring_lse, ring_query, ring_lse}, {}, {}},
          {"ring_attention", {ring_query, ring_key, ring_key, ring_query, ring_lse}, ring, {0, 1, 2}},
          {"attention_sink", {query, lse, array({12})}, {}, {0, 1, 2}},
          {"attention_sink_grad", {query, query, lse, array({12})}, {}, {}},
          {"top_k", {x}, TopKAttributes{.k = 6}, {0}},
          {"top_k", {x, scale}, TopKAttributes{.k = 6}, {0}},
          {"top_k_grad", {x, tokens({12, 6, 6}), array({12, 6, 6})}, TopKAttributes{.k = 6}, {}},
          {"expert_linear", {x, tokens({12, 6, 6}), array({12, 18, 24})}, ExpertLinearAttributes{12, false}, {0, 2}},
          {"expert_linear_grad", {x, tokens({12, 6, 6}), array({12, 6, 6, 18})}, ExpertLinearAttributes{12, false}, {}},
          {"expert_counts", {choices}, blocks, {}},
          {"expert_load", {choices}, ExpertLoadAttributes{12}, {}},
          {"expert_probability", {x}, {}, {0}},
          {"expert_probability_grad", {x, scale}, {}, {}},
          {"dispatch", {x, choices, counts}, blocks, {0}},
          {"dispatch", {array({12, 6, 6, 24}), choices, counts}, blocks, {0}},
          {"combine", {sent, choices, counts}, blocks, {0}},
          {"grouped_linear", {sent, counts, array({12, 6, 24})}, GroupedLinearAttributes{}, {0, 2}},
          {"grouped_linear", {sent, counts, array({12, 24, 6})}, GroupedLinearAttributes{true, 0.5}, {0, 2}},
          {"grouped_linear_grad", {sent, counts, array({18, 2, 18, 6})}, GroupedLinearAttributes{}, {}},
          {"weighted_sum", {query, array({12, 6, 12})}, {}, {0, 1}},
          {"weighted_sum_grad", {query, array({12, 6, 12}), x}, {}, {}},
          {"layer_norm_moments", {x}, {}, {}},
          {"layer_norm", {x, rows, rows, scale, scale}, norm, {0, 3, 4}},
          {"layer_norm_grad_moments", {x, x, rows, rows, scale}, norm, {}},
          {"layer_norm_grad_input", {x, x, rows, rows, scale, rows, rows}, norm, {}},
          {"layer_norm_grad_parameters", {x, x, rows, rows}, norm, {}},
          {"rms_norm_squares", {x}, {}, {}},
          {"rms_norm", {x, scale, rows}, norm, {0, 1}},
          {"rms_norm_grad_product", {x, x, scale}, {}, {}},
          {"rms_norm_grad_input", {x, x, scale, rows, rows}, norm, {}},
          {"rms_norm_grad_scale", {x, x, rows}, norm, {}},
          {"attention", {query, key, key}, attention, {0, 1, 2}},
          {"attention", {query, key, key, queries, keys}, attention, {0, 1, 2}},
          {"attention", {query, shared, shared, queries, keys}, attention, {0, 1, 2}},
          {"attention_grad", {query, key, key, query, lse, query}, attention, {}},
          {"attention_grad", {query, key, key, query, lse, query, queries, keys}, attention, {}},
          {"attention_grad", {query, shared, shared, query, lse, query, queries, keys}, attention, {}},
          {"dropout", {x}, DropoutAttributes{0.5, step_key}, {0}},
          {"row_max", {x}, {}, {}},
          {"cross_entropy_terms", {x, tokens({12, 6}), rows}, {}, {0}},
          {"cross_entropy_terms_grad", {x, tokens({12, 6}), rows, rows, rows}, {}, {}},
          {"cross_entropy", {rows, rows, rows, tokens({12, 6}), tokens({12, 6})}, mean, {1, 2}},
          {"cross_entropy", {rows, rows, rows, tokens({12, 6}), tokens({12, 6}), rows}, mean, {1, 2}},
          {"cross_entropy_grad", {rows, scalar}, mean, {}},
          {"cross_entropy_grad", {rows, scalar, rows}, mean, {}},
          {"squared_error", {x, x}, mean, {0}},
          {"squared_error_grad", {x, x, scalar}, mean, {}},
          {"adam", {x, x, x, x}, AdamAttributes{}, {}},
          {"sgd", {x, x, x}, SgdAttributes{}, {}},
          {"momentum_sgd", {x, x, x}, MomentumSgdAttributes{}, {}},
          {"lion", {x, x, x}, LionAttributes{}, {}},
          {"no_update", {x, x}, {}, {}},
          {"sum_of_squares", {x}, {}, {}},
          {"global_norm", {scalar, scalar}, {}, {}},
          {"clip_by_global_norm", {x, scalar}, ClipAttributes{2}, {}}};
}

}  // namespace shardscope::test
