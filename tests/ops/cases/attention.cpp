#include <cmath>

#include "engine/ops/attention.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// Four query heads of size 2 that share `key_heads` key heads.
Layer grouped_attention(int64_t key_heads, bool masked, AttentionAttributes attributes) {
  return [=](Graph& graph, const Linen& m, ValueId x, ValueId tokens) {
    auto project = [&](const char* name, int64_t heads) {
      return m.child(name).dense(x, "bse,ehd->bshd", {width, heads, 2}, {"embed", "heads", "kv"});
    };
    std::vector<ValueId> operands{project("query", 4), project("key", key_heads), project("value", key_heads)};
    if (masked) operands.insert(operands.end(), {tokens, tokens});
    const ValueId context = append(graph, "attention", operands, attributes);
    return m.child("out").dense(context, "bshd,hde->bse", {4, 2, width}, {"heads", "kv", "embed"});
  };
}

ValueId self_attention(Graph&, const Linen& m, ValueId x, ValueId tokens) { return m.self_attention(x, tokens, 2); }
ValueId open_self_attention(Graph&, const Linen& m, ValueId x, ValueId) { return m.open_self_attention(x, 2); }

std::vector<NamedNetwork> attention_networks() {
  const AttentionAttributes plain{}, causal{true, {}}, dropping{true, {0.4, {key_from_seed(3), 1, 0, 5}}};
  AttentionAttributes window = causal, capped = plain, sloping = causal;
  window.window = 2;
  capped.soft_cap = 0.6;
  capped.scale = 1.5;
  sloping.slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  return {{"attention", 0, self_attention},
          {"attention without mask and bias", 0, open_self_attention},
          {"attention_dropout", 0.4, self_attention},
          {"attention in a window", 0, grouped_attention(2, false, window)},
          {"attention with a soft cap", 0, grouped_attention(4, false, capped)},
          {"attention with slopes", 0, grouped_attention(2, false, sloping)},
          {"attention of two key heads", 0, grouped_attention(2, false, plain)},
          {"attention of two key heads, masked", 0, grouped_attention(2, true, causal)},
          {"attention of two key heads, dropout", 0, grouped_attention(2, true, dropping)},
          {"attention of one key head", 0, grouped_attention(1, false, causal)},
          {"attention of one key head, masked", 0, grouped_attention(1, true, plain)}};
}

std::vector<OpCase> small_attention_cases() {
  using namespace small;
  const StepKey step_key{key_from_seed(7), 1, 0, 12345};
  const AttentionAttributes causal{true, {}}, open{false, {}}, dropping{true, {0.3, step_key}};
  const TensorType &q = query, two = array({4, 8, 2, 12}), one = array({4, 8, 1, 12});
  std::vector<OpCase> all;
  // Each key head serves one, two or all four query heads.
  for (const TensorType& key : {q, two, one}) {
    for (const AttentionAttributes& attributes : {causal, open, dropping}) {
      all.push_back({"attention", {q, key, key}, attributes});
      all.push_back({"attention", {q, key, key, ids, ids}, attributes});
      all.push_back({"attention_grad", {q, key, key, q, lse, q}, attributes});
      all.push_back({"attention_grad", {q, key, key, q, lse, q, ids, ids}, attributes});
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
    for (const TensorType& key : {q, two}) {
      all.push_back({"attention", {q, key, key}, attributes});
      all.push_back({"attention_grad", {q, key, key, q, lse, q}, attributes});
      all.push_back({"attention_grad", {q, key, key, q, lse, q, lse}, attributes});
    }
  }
  all.push_back({"attention_grad", {q, two, two, q, lse, q, lse, ids, ids}, causal});
  // Over several blocks of queries.
  const TensorType longer = array({2, 96, 2, 4}), longer_lse = array({2, 2, 96});
  AttentionAttributes sliding = causal;
  sliding.window = 20;
  all.push_back({"attention", {longer, longer, longer}, sliding});
  all.push_back({"attention_grad", {longer, longer, longer, longer, longer_lse, longer}, sliding});
  return all;
}

std::vector<Attributes> attention_variants() {
  std::vector<Attributes> variants;
  for (const DropoutAttributes& one : dropouts()) {
    for (bool causal : {false, true}) {
      const AttentionAttributes made{causal, one};
      [[maybe_unused]] const auto& [own_causal, own_dropout, scale, window, cap, slopes] = made;
      variants.push_back(made);
    }
  }
  const AttentionAttributes made{true, dropouts()[0], 0.1, 4, 50, {0.5f, 0.25f}};
  variants.push_back(made);
  for (auto change : std::initializer_list<void (*)(AttentionAttributes&)>{
           [](AttentionAttributes& a) { a.scale = next(a.scale); }, [](AttentionAttributes& a) { a.window = 5; },
           [](AttentionAttributes& a) { a.soft_cap = next(a.soft_cap); },
           [](AttentionAttributes& a) { a.slopes[1] = std::nextafter(0.25f, 1.0f); }}) {
    AttentionAttributes changed = made;
    change(changed);
    variants.push_back(changed);
  }
  return variants;
}

}  // namespace

OpCases attention_cases() {
  using namespace large;
  const TensorType key = array({12, 18, 12, 24}), shared = array({12, 18, 6, 24}), keys = tokens({12, 18});
  const AttentionAttributes attention{true, {0, {{0, 1}, 1, 0, 7}}};
  OpCases all;
  all.cases = {{"attention", {query, key, key}, attention, {0, 1, 2}},
               {"attention", {query, key, key, ids, keys}, attention, {0, 1, 2}},
               {"attention", {query, shared, shared, ids, keys}, attention, {0, 1, 2}},
               {"attention_grad", {query, key, key, query, lse, query}, attention},
               {"attention_grad", {query, key, key, query, lse, query, ids, keys}, attention},
               {"attention_grad", {query, shared, shared, query, lse, query, ids, keys}, attention}};
  all.small_cases = small_attention_cases();
  all.networks = attention_networks();
  all.ranges = {{"attention_grad", 4, 3, 4}};
  all.largest_integer = 2;  // 0 is masked
  all.attributes = {attention_variants()};
  return all;
}

}  // namespace shardscope::test
