#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/laws/whole_graph.h"
#include "tests/ops/op_case.h"

namespace shardscope::test {

// An op with operands small enough to split in every way on a 2 x 2 mesh (and unequal, so that mixed-up dimensions
// show).
inline std::vector<OpCase> small_op_cases() {
  const LayerNormAttributes norm{1e-6, 16};
  const StepKey step_key{key_from_seed(7), 1, 0, 12345};
  const AttentionAttributes causal{true, {}}, open{false, {}}, dropping{true, {0.3, step_key}};
  const ScaleAttributes mean{1.0 / 32};
  const TensorType x = array({4, 8, 16}), row = array({4, 8}), ids = tokens({4, 8}), scalar = array({});
  const TensorType q = array({4, 8, 4, 12}), k = q, lse = array({4, 4, 8}), logits = array({4, 8, 24});
  const TensorType two = array({4, 8, 2, 12}), one = array({4, 8, 1, 12}), features = array({16});
  using Kind = InitialiseAttributes::Kind;
  const TensorType four = tokens({4, 8, 4});
  const auto ring = [](int64_t step) { return RingAttributes{{true, {}}, 2, 8, step}; };
  const auto extended_ring = [](int64_t step) {
    RingAttributes attributes{{true, {}}, 2, 8, step};
    attributes.attention.window = 3;
    attributes.attention.soft_cap = 0.6;
    attributes.attention.scale = 0.4;
    attributes.attention.slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
    return attributes;
  };
  // Blocks of half a row, for experts in two blocks; where some are dropped, there is room for 5 of 16.
  const DispatchAttributes blocks{4, 2, 4, 2, 16, false}, summed_blocks{4, 2, 4, 2, 16, true};
  const DispatchAttributes dropping_blocks{4, 2, 4, 2, 5, false};
  const TensorType counts = tokens({8, 2, 2}), sent = array({8, 2, 16, 12});
  const TopKAttributes sigmoid_choice{.score = TopKAttributes::Score::sigmoid,
                                      .k = 4,
                                      .normalise = true,
                                      .scale = 2.5,
                                      .groups = 4,
                                      .chosen_groups = 2};
  std::vector<OpCase> all{
      {"embedding", {ids, array({24, 16})}, {}, {}},
      {"embedding_grad", {ids, x}, EmbeddingGradAttributes{24}, {}},
      {"einsum", {x, array({16, 4, 12})}, equation("bse,ehd->bshd"), {}},
      {"einsum", {q, array({4, 12, 16})}, equation("bshd,hde->bse"), {}},
      {"einsum", {q, array({16, 4, 12})}, equation("bshd,ehd->bse"), {}},
      {"einsum", {x, q}, equation("bse,bshd->ehd"), {}},
      {"einsum", {x, array({48, 16})}, equation("bse,(hd)e->bshd", {{'h', 4}}), {}},
      {"einsum", {q, array({16, 48})}, equation("bshd,e(hd)->bse", {{'h', 4}}), {}},
      {"einsum", {x, q}, equation("bse,bshd->(hd)e", {{'h', 4}}), {}},
      {"add", {x, features}, equation("bse,e->bse"), {}},
      {"add", {x, array({8, 16})}, equation("bse,se->bse"), {}},
      {"add", {x, x}, equation("bse,bse->bse"), {}},
      {"reduce_sum", {x}, equation("bse->e"), {}},
      {"reduce_sum", {x}, equation("bse->se"), {}},
      {"reduce_sum", {q}, equation("bshd->hd"), {}},
      {"rearrange", {array({4, 8, 48})}, equation("bs(hd)->bshd", {{'h', 4}}), {}},
      {"rearrange", {array({4, 8, 48})}, equation("bs(hd)->bshd", {{'h', 2}}), {}},
      {"rearrange", {q}, equation("bshd->bs(hd)"), {}},
      {"rearrange", {q}, equation("bshd->bhsd"), {}},
      {"rearrange", {q}, equation("bshd->(bs)(dh)"), {}},
      {"rearrange", {array({4, 8, 6, 2})}, equation("bhwc->b(hwc)"), {}},
      {"rearrange", {ids}, equation("bs->sb"), {}},
      {"rearrange", {half({4, 8, 48})}, equation("bs(hd)->bshd", {{'h', 4}}), {}},
      {"stack", {x, x, x}, StackAttributes{2, 3}, {}},
      {"stack", {x, x, x}, StackAttributes{0, 3}, {}},
      {"unstack", {array({4, 8, 3, 16})}, StackAttributes{2, 3}, {}},
      {"unstack", {half({4, 8, 16, 3})}, StackAttributes{3, 3}, {}},
      {"next_token", {ids}, {}, {}},
      {"scale", {x}, ScaleAttributes{-2.5}, {}},
      {"accumulate", {x}, ScaleAttributes{0.25}, {}},
      {"cast", {x}, CastAttributes{DType::bf16}, {}},
      {"cast", {half({4, 8, 16})}, CastAttributes{DType::f32}, {}},
      {"constant", {}, ConstantAttributes{1.5, x}, {}},
      {"gelu", {x}, {}, {}},
      {"gelu_grad", {x, x}, {}, {}},
      {"relu", {x}, {}, {}},
      {"relu_grad", {x, x}, {}, {}},
      {"silu", {x}, {}, {}},
      {"silu_grad", {x, x}, {}, {}},
      {"gelu_exact", {x}, {}, {}},
      {"gelu_exact_grad", {x, x}, {}, {}},
      {"multiply", {x, x}, {}, {}},
      {"soft_cap", {x}, SoftCapAttributes{0.4}, {}},
      {"soft_cap_grad", {x, x}, SoftCapAttributes{2}, {}},
      {"clip", {x}, ClipBoundsAttributes{-0.5, 0.7}, {}},
      {"clip_grad", {x, x}, ClipBoundsAttributes{-0.5, 0.7}, {}},
      {"split", {x}, SplitAttributes{2, {4, 12}}, {}},
      {"split", {x}, SplitAttributes{0, {1, 1, 2}}, {}},
      {"split", {q}, SplitAttributes{1, {1, 2, 4, 1}}, {}},
      {"split", {half({4, 8, 16})}, SplitAttributes{1, {3, 5}}, {}},
      {"concatenate", {array({4, 3, 16}), array({4, 5, 16})}, SplitAttributes{1, {3, 5}}, {}},
      {"concatenate", {x, x, x}, SplitAttributes{0, {4, 4, 4}}, {}},
      {"concatenate", {array({4, 8, 1}), x}, SplitAttributes{2, {1, 16}}, {}},
      {"rotary", {q}, RotaryAttributes{{1.0f, 0.3f, 0.1f, 0.03f, 0.01f, 0.003f}, 1, false, false}, {}},
      {"rotary", {q}, RotaryAttributes{{1.0f, 0.3f}, 1.25f, false, true}, {}},
      {"rotary", {q}, RotaryAttributes{{1.0f, 0.3f, 0.1f}, 1, true, false}, {}},
      {"rotary", {half({4, 8, 4, 12})}, RotaryAttributes{{1.0f, 0.3f, 0.1f}, 1, false, false}, {}},
      {"attention_sink", {q, lse, array({4})}, {}, {}},
      {"attention_sink_grad", {q, q, lse, array({4})}, {}, {}},
      {"top_k", {x}, TopKAttributes{.k = 2}, {}},
      {"top_k", {x, features}, TopKAttributes{.k = 3, .normalise = true, .scale = 2.5}, {}},
      {"top_k", {x, features}, sigmoid_choice, {}},
      {"top_k_grad", {x, four, array({4, 8, 4})}, TopKAttributes{.k = 4}, {}},
      {"top_k_grad", {x, four, array({4, 8, 4})}, TopKAttributes{.k = 4, .normalise = true, .scale = 1.5}, {}},
      {"top_k_grad", {x, four, array({4, 8, 4})}, sigmoid_choice, {}},
      {"expert_linear", {x, four, array({4, 24, 16})}, ExpertLinearAttributes{4, false}, {}},
      {"expert_linear", {q, four, array({4, 24, 12})}, ExpertLinearAttributes{4, false}, {}},
      {"expert_linear", {q, four, array({4, 12, 24})}, ExpertLinearAttributes{4, true}, {}},
      {"expert_linear_grad", {x, four, q}, ExpertLinearAttributes{4, false}, {}},
      {"expert_linear_grad", {q, four, q}, ExpertLinearAttributes{4, false}, {}},
      {"expert_linear_grad", {q, four, x}, ExpertLinearAttributes{4, false}, {}},
      {"expert_linear", {x, four, array({4, 16, 12})}, ExpertLinearAttributes{4, true}, {}},
      {"rotary", {q}, RotaryAttributes{{1.0f, 0.3f, 0.1f}, 1, false, false, 2}, {}},
      {"zigzag", {ids}, ZigzagAttributes{2, 1, false}, {}},
      {"zigzag", {x}, ZigzagAttributes{2, 1, true}, {}},
      {"attention_block", {q, q, q}, ring(0), {}},
      {"attention_block", {q, two, two}, ring(1), {}},
      {"attention_block", {q, one, one}, extended_ring(0), {}},
      {"attention_block", {q, one, one}, extended_ring(1), {}},
      {"attention_block_grad", {q, q, q, q, lse, q}, ring(1), {}},
      {"attention_block_grad", {q, two, two, q, lse, q, lse}, ring(0), {}},
      {"attention_block_grad", {q, one, one, q, lse, q}, extended_ring(0), {}},
      {"attention_block_grad", {q, one, one, q, lse, q}, extended_ring(1), {}},
      {"merge_attention", {q, lse, q, lse}, {}, {}},
      {"ring_attention", {q, two, two, q, lse}, ring(0), {}},
      {"roll", {q}, RollAttributes{4, 1}, {}},
      {"roll", {ids}, RollAttributes{2, -1}, {}},
      {"expert_counts", {four}, blocks, {}},
      {"expert_counts", {four}, dropping_blocks, {}},
      {"expert_load", {four}, ExpertLoadAttributes{8}, {}},
      {"expert_probability", {x}, {}, {}},
      {"expert_probability_grad", {x, features}, {}, {}},
      {"dispatch", {x, four, counts}, blocks, {}},
      {"dispatch", {q, four, counts}, dropping_blocks, {}},
      {"combine", {sent, four, counts}, blocks, {}},
      {"combine", {sent, four, counts}, summed_blocks, {}},
      {"combine", {array({8, 2, 5, 12}), four, counts}, dropping_blocks, {}},
      {"grouped_linear", {sent, counts, array({4, 24, 12})}, GroupedLinearAttributes{}, {}},
      {"grouped_linear", {sent, counts, array({4, 12, 24})}, GroupedLinearAttributes{true, 1}, {}},
      {"grouped_linear_grad", {sent, counts, array({8, 2, 16, 4})}, GroupedLinearAttributes{}, {}},
      {"weighted_sum", {q, array({4, 8, 4})}, {}, {}},
      {"weighted_sum_grad", {q, array({4, 8, 4}), array({4, 8, 12})}, {}, {}},
      {"layer_norm_moments", {x}, {}, {}},
      {"layer_norm", {x, row, row, features, features}, norm, {}},
      {"layer_norm_grad_moments", {x, x, row, row, features}, norm, {}},
      {"layer_norm_grad_input", {x, x, row, row, features, row, row}, norm, {}},
      {"layer_norm_grad_parameters", {x, x, row, row}, norm, {}},
      {"rms_norm_squares", {x}, {}, {}},
      {"rms_norm", {x, features, row}, norm, {}},
      {"rms_norm_grad_product", {x, x, features}, {}, {}},
      {"rms_norm_grad_input", {x, x, features, row, row}, norm, {}},
      {"rms_norm_grad_scale", {x, x, row}, norm, {}},
      {"dropout", {x}, DropoutAttributes{0.3, step_key}, {}},
      {"row_max", {logits}, {}, {}},
      {"cross_entropy_terms", {logits, ids, row}, {}, {}},
      {"cross_entropy_terms_grad", {logits, ids, row, row, row}, {}, {}},
      {"cross_entropy", {row, row, row, ids, ids}, mean, {}},
      {"cross_entropy", {row, row, row, ids, ids, row}, mean, {}},
      {"cross_entropy_grad", {row, scalar}, mean, {}},
      {"cross_entropy_grad", {row, scalar, row}, mean, {}},
      {"squared_error", {x, x}, mean, {}},
      {"squared_error_grad", {x, x, scalar}, mean, {}},
      {"adam", {array({8, 16}), array({8, 16}), array({8, 16}), array({8, 16})}, AdamAttributes{}, {}},
      {"sgd", {array({8, 16}), array({8, 16}), array({8, 16})}, SgdAttributes{}, {}},
      {"momentum_sgd", {array({8, 16}), array({8, 16}), array({8, 16})}, MomentumSgdAttributes{}, {}},
      {"momentum_sgd", {features, features, features}, MomentumSgdAttributes{0.1, 0.8, true}, {}},
      {"lion", {array({8, 16}), array({8, 16}), array({8, 16})}, LionAttributes{0.1, 0.9, 0.99, 0.2}, {}},
      {"no_update", {array({8, 16}), array({8, 16})}, {}, {}},
      {"adam", {features, features, features, features}, AdamAttributes{0.1, 0.9, 0.999, 1e-8, 0.2}, {}},
      {"sum_of_squares", {x}, {}, {}},
      {"sum_of_squares", {features}, {}, {}},
      {"global_norm", {scalar, scalar, scalar}, {}, {}},
      {"clip_by_global_norm", {x, scalar}, ClipAttributes{2}, {}},
      {"clip_by_global_norm", {x, scalar}, ClipAttributes{5}, {}},
  };
  for (const ConvAttributes& attributes : {conv(1, ConvPadding::same), conv(2, ConvPadding::same),
                                           conv(1, ConvPadding::valid), conv(3, ConvPadding::valid)}) {
    const TensorType picture = array({4, 6, 7, 4}), window = array({3, 2, 4, 8});
    const TensorType result = conv_result(attributes, 4, 8);
    all.push_back({"conv", {picture, window}, attributes, {}});
    all.push_back({"conv_grad_input", {result, window}, attributes, {}});
    all.push_back({"conv_grad_kernel", {picture, result}, attributes, {}});
  }
  for (Kind kind : {Kind::constant, Kind::normal, Kind::truncated_normal, Kind::uniform}) {
    all.push_back({"initialise", {}, InitialiseAttributes{kind, 0.02, key_from_seed(5), x}, {}});
    all.push_back({"initialise", {}, InitialiseAttributes{kind, 0.02, key_from_seed(5), array({12})}, {}});
  }
  const TensorType table = array({12, 16});
  all.push_back({"initialise", {}, InitialiseAttributes{Kind::sinusoidal, 1e4, {}, table}, {}});
  // Each key head serves one, two or all four query heads.
  for (const TensorType& key : {k, two, one}) {
    for (const AttentionAttributes& attributes : {causal, open, dropping}) {
      all.push_back({"attention", {q, key, key}, attributes, {}});
      all.push_back({"attention", {q, key, key, ids, ids}, attributes, {}});
      all.push_back({"attention_grad", {q, key, key, q, lse, q}, attributes, {}});
      all.push_back({"attention_grad", {q, key, key, q, lse, q, ids, ids}, attributes, {}});
    }
  }
  AttentionAttributes window = causal, narrow = causal, capped = causal, sloping = causal, everything = causal;
  window.window = 3;
  narrow.window = 1;
  capped.soft_cap = 0.5;
  capped.scale = 0.7;
  sloping.slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  everything.window = 5;
  everything.soft_cap = 1.5;
  everything.slopes = sloping.slopes;
  AttentionAttributes open_capped = open;
  open_capped.soft_cap = 0.3;
  for (const AttentionAttributes& attributes : {window, narrow, capped, sloping, everything, open_capped}) {
    for (const TensorType& key : {k, two}) {
      all.push_back({"attention", {q, key, key}, attributes, {}});
      all.push_back({"attention_grad", {q, key, key, q, lse, q}, attributes, {}});
      all.push_back({"attention_grad", {q, key, key, q, lse, q, lse}, attributes, {}});
    }
  }
  all.push_back({"attention_grad", {q, two, two, q, lse, q, lse, ids, ids}, causal, {}});
  // Over several blocks of queries.
  const TensorType longer = array({2, 96, 2, 4}), longer_lse = array({2, 2, 96});
  AttentionAttributes sliding = causal;
  sliding.window = 20;
  all.push_back({"attention", {longer, longer, longer}, sliding, {}});
  all.push_back({"attention_grad", {longer, longer, longer, longer, longer_lse, longer}, sliding, {}});
  return all;
}

// What the operand may hold: sums of squares and of exponentials are positive, log-sum-exps are above the scores.
inline std::pair<double, double> operand_range(const std::string& op, size_t operand) {
  const bool squares = (op.starts_with("layer_norm") && op != "layer_norm_moments" &&
                        operand == (op.find("grad") != std::string::npos ? 3u : 2u)) ||
                       (op == "adam" && operand == 3) || (op == "rms_norm" && operand == 2) ||
                       (op == "rms_norm_grad_input" && operand == 3) || op == "global_norm" ||
                       (op == "rms_norm_grad_scale" && operand == 2);
  if (squares) return {8, 16};
  const bool exponentials = (op == "cross_entropy" && operand == 1) || (op == "cross_entropy_grad" && operand == 0);
  const bool norms = op == "clip_by_global_norm" && operand == 1;
  if (exponentials || norms || (op == "attention_grad" && operand == 4)) return {3, 4};
  return {-1, 1};
}

inline int32_t random_integer(const std::string& op, size_t operand, std::mt19937& random) {
  if (op.starts_with("attention")) return static_cast<int32_t>(random() % 3);  // 0 is masked
  if (op.starts_with("expert") || op == "dispatch" || op == "combine" || op.starts_with("grouped"))
    return static_cast<int32_t>(random() % 4);
  if (op == "cross_entropy") return static_cast<int32_t>(random() % 3) * (operand == 3 ? -1 : 1);
  return static_cast<int32_t>(random() % 24);
}

inline std::vector<TestArray> random_operands(const OpCase& c) {
  std::mt19937 random(11);
  std::vector<TestArray> arrays;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const TensorType& type = c.operands[i];
    arrays.emplace_back(type.bytes());
    const auto [low, high] = operand_range(c.op, i);
    std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
    const bool integers = type.dtype == DType::i32;
    for (int64_t e = 0; e < element_count(type.shape); ++e) {
      arrays.back().set(type.dtype, e, integers ? random_integer(c.op, i, random) : uniform(random));
    }
  }
  if (c.op == "cross_entropy_terms" || c.op == "cross_entropy_terms_grad") {
    float* top = arrays[c.op == "cross_entropy_terms" ? 2 : 4].f32();
    const int64_t columns = c.operands[0].shape.back();
    for (int64_t row = 0; row < element_count(c.operands[1].shape); ++row) {
      top[row] = *std::max_element(arrays[0].f32() + row * columns, arrays[0].f32() + (row + 1) * columns);
    }
  }
  if (c.op == "top_k_grad") {  // different choices in each row
    const int64_t k = c.operands[1].shape[2], experts = c.operands[0].shape[2];
    for (int64_t i = 0; i < element_count(c.operands[1].shape); ++i) {
      arrays[1].i32()[i] = static_cast<int32_t>((i / k + i % k * (experts / k)) % experts);
    }
  }
  return arrays;
}

}  // namespace shardscope::test
