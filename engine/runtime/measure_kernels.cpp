#include <algorithm>

#include "engine/ops/adam.h"
#include "engine/ops/attention.h"
#include "engine/ops/cast.h"
#include "engine/ops/clip.h"
#include "engine/ops/constant.h"
#include "engine/ops/dispatch.h"
#include "engine/ops/dropout.h"
#include "engine/ops/embedding.h"
#include "engine/ops/equation.h"
#include "engine/ops/expert_load.h"
#include "engine/ops/global_norm.h"
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
#include "engine/runtime/measurements.h"
#include "engine/runtime/timed_op.h"

namespace shardscope {

namespace {

struct KernelCase {
  const char* family;
  Attributes attributes;
  std::vector<TensorType> operands;
};

constexpr int64_t features = 320, heads = 4, head_size = features / heads, vocabulary = 640;

// Of half of each head.
RotaryAttributes quarter_turns() {
  return {std::vector<float>(static_cast<size_t>(head_size / 2), 0.5f), 1, false, false};
}

void add_cases_in(DType dtype, int64_t rows, std::vector<KernelCase>& cases) {
  const TensorType x{{rows, features}, dtype}, bias{{features}, dtype}, tokens{{rows / 48, 48}, DType::i32};
  const TensorType embedded{{rows / 48, 48, features}, dtype}, table{{vocabulary, features}, dtype};
  const TensorType headed{{rows / 48, 48, heads, head_size}, dtype};
  const DType other = dtype == DType::f32 ? DType::bf16 : DType::f32;
  const auto equation = [](const char* text) { return EquationAttributes{text}; };
  cases.insert(cases.end(), {
                                {"gelu", {}, {x}},
                                {"gelu_grad", {}, {x, x}},
                                {"gelu_exact", {}, {x}},
                                {"gelu_exact_grad", {}, {x, x}},
                                {"silu", {}, {x}},
                                {"silu_grad", {}, {x, x}},
                                {"multiply", {}, {x, x}},
                                {"soft_cap", SoftCapAttributes{5}, {x}},
                                {"soft_cap_grad", SoftCapAttributes{5}, {x, x}},
                                {"clip", ClipBoundsAttributes{-1, 1}, {x}},
                                {"clip_grad", ClipBoundsAttributes{-1, 1}, {x, x}},
                                {"split", SplitAttributes{1, {features / 2, features / 2}}, {x}},
                                {"concatenate", SplitAttributes{0, {rows, rows}}, {x, x}},
                                {"rotary", quarter_turns(), {headed}},
                                {"relu", {}, {x}},
                                {"relu_grad", {}, {x, x}},
                                {"add", equation("re,re->re"), {x, x}},
                                {"add", equation("re,e->re"), {x, bias}},
                                {"reduce_sum", equation("re->e"), {x}},
                                {"scale", ScaleAttributes{0.5}, {x}},
                                {"cast", CastAttributes{other}, {x}},
                                {"constant", ConstantAttributes{0.5, x}, {}},
                                {"dropout", DropoutAttributes{0.25, {{1, 2}, 1, 0, {}}}, {x}},
                                {"rearrange", EquationAttributes{"r(hd)->rhd", {{'h', heads}}}, {x}},
                                {"stack", StackAttributes{0, 3}, {x, x, x}},
                                {"unstack", StackAttributes{0, 3}, {{{3, rows, features}, dtype}}},
                                {"embedding", {}, {tokens, table}},
                                {"embedding_grad", EmbeddingGradAttributes{vocabulary}, {tokens, embedded}},
                            });
}

std::vector<KernelCase> cases_of(int64_t rows) {
  std::vector<KernelCase> cases;
  for (DType dtype : {DType::f32, DType::bf16}) add_cases_in(dtype, rows, cases);
  const TensorType x{{rows, features}}, r{{rows}}, e{{features}}, one{}, labels{{rows}, DType::i32};
  const TensorType tokens{{rows / 48, 48}, DType::i32};
  const LayerNormAttributes norm{1e-6, features};
  const ScaleAttributes half{0.5};
  constexpr int64_t experts = 128, k = 2;  // more than the numbers that integer operands have
  const TensorType slots{{rows / 48, 48, k, features}}, weights{{rows / 48, 48, k}}, logits{{rows / 48, 48, experts}};
  const TensorType embedded{{rows / 48, 48, features}}, chosen{{rows / 48, 48, k}, DType::i32};
  const TopKAttributes choice{.k = k};
  const DispatchAttributes blocks{.experts = experts, .rows = rows * k};
  const TensorType counts{{1, 1, experts}, DType::i32}, grouped{{1, 1, rows * k, features}};
  cases.insert(cases.end(), {
                                {"layer_norm_moments", {}, {x}},
                                {"layer_norm", norm, {x, r, r, e, e}},
                                {"layer_norm_grad_moments", norm, {x, x, r, r, e}},
                                {"layer_norm_grad_input", norm, {x, x, r, r, e, r, r}},
                                {"layer_norm_grad_parameters", norm, {x, x, r, r}},
                                {"rms_norm_squares", {}, {x}},
                                {"rms_norm", norm, {x, e, r}},
                                {"rms_norm_grad_product", {}, {x, x, e}},
                                {"rms_norm_grad_input", norm, {x, x, e, r, r}},
                                {"rms_norm_grad_scale", norm, {x, x, r}},
                                {"weighted_sum", {}, {slots, weights}},
                                {"weighted_sum_grad", {}, {slots, weights, embedded}},
                                {"top_k", choice, {logits}},
                                {"top_k_grad", choice, {logits, chosen, weights}},
                                {"expert_counts", blocks, {chosen}},
                                {"expert_load", ExpertLoadAttributes{experts}, {chosen}},
                                {"expert_probability", {}, {logits}},
                                {"expert_probability_grad", {}, {logits, {{experts}}}},
                                {"dispatch", blocks, {embedded, chosen, counts}},
                                {"combine", blocks, {grouped, chosen, counts}},
                                {"row_max", {}, {x}},
                                {"cross_entropy_terms", {}, {x, labels, r}},
                                {"cross_entropy_terms_grad", {}, {x, labels, r, r, r}},
                                {"cross_entropy", half, {r, r, r, labels, labels}},
                                {"cross_entropy_grad", half, {r, one}},
                                {"squared_error", half, {x, x}},
                                {"squared_error_grad", half, {x, x, one}},
                                {"next_token", {}, {tokens}},
                                {"adam", AdamAttributes{}, {x, x, x, x}},
                                {"sgd", SgdAttributes{}, {x, x, x}},
                                {"momentum_sgd", MomentumSgdAttributes{}, {x, x, x}},
                                {"lion", LionAttributes{}, {x, x, x}},
                                {"accumulate", half, {x}},
                                {"sum_of_squares", {}, {x}},
                                {"clip_by_global_norm", ClipAttributes{}, {x, one}},
                            });
  const int64_t length = std::min<int64_t>(rows, 192), sequences = rows / length;
  const TensorType query{{sequences, length, heads, head_size}}, lse{{sequences, heads, length}};
  for (bool causal : {false, true}) {
    cases.push_back({"attention", AttentionAttributes{causal, {}}, {query, query, query}});
    cases.push_back({"attention_grad", AttentionAttributes{causal, {}}, {query, query, query, query, lse, query}});
  }
  const RingAttributes ring{{true, {}}, 1, length, 0};
  cases.push_back({"attention_block", ring, {query, query, query}});
  cases.push_back({"attention_block_grad", ring, {query, query, query, query, lse, query}});
  cases.push_back({"merge_attention", {}, {query, lse, query, lse}});
  cases.push_back({"ring_attention", ring, {query, query, query, query, lse}});
  cases.push_back({"roll", RollAttributes{2, 1}, {query}});
  cases.push_back({"zigzag", ZigzagAttributes{2, 1, false}, {query}});
  const TensorType sinks{{heads}};
  cases.push_back({"attention_sink", {}, {query, lse, sinks}});
  cases.push_back({"attention_sink_grad", {}, {query, query, lse, sinks}});
  return cases;
}

}  // namespace

std::vector<KernelTiming> measure_kernels(int cores, double seconds) {
  std::vector<KernelTiming> measured;
  constexpr int64_t few_rows = 48, many_rows = 3072;  // arrays of 60 kB and of 4 MB
  for (int64_t rows : {few_rows, many_rows}) {
    const std::vector<KernelCase> cases = cases_of(rows);
    const double each = seconds / 2 / static_cast<double>(cases.size());
    for (const auto& [family, attributes, operands] : cases) {
      const DType dtype = operands.empty() ? DType::f32 : operands[0].dtype;
      const double apart = op_definition(family).must_be_in_place() ? bytes_between_updates : bytes_between_uses;
      const auto [time, bytes, flops] = time_op(cores, each, apart, family, attributes, operands);
      measured.push_back({family, precision_of(dtype), bytes, flops, time});
    }
  }
  return measured;
}

}  // namespace shardscope
