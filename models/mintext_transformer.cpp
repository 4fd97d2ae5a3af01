#include "models/mintext_transformer.h"

#include <fmt/format.h>

#include "engine/ops/attention.h"
#include "engine/ops/layer_norm.h"
#include "models/compute_dtype.h"
#include "models/initialisers.h"
#include "models/losses.h"
#include "models/module.h"
#include "models/nnx_rngs.h"

namespace shardscope {

namespace {

struct Sizes {
  int64_t width, heads, key_heads, key_size, hidden;
  DType ffw;  // between the two products of the feed-forward block, and of its result
};

ValueId parameter(const Module& module, NnxRngs& rngs, const std::string& name, Shape shape,
                  std::vector<std::string> logical) {
  return module.parameter(name, rngs.draw(he_normal(fan_in(shape), shape)), std::move(logical));
}

ValueId rms_norm(const Module& module, ValueId gamma, ValueId x) {
  const ValueId squares = module.append("rms_norm_squares", {x});
  return module.append("rms_norm", {x, gamma, squares}, LayerNormAttributes{1e-6, module.graph().type(x).shape.back()});
}

ValueId layer(const Module& module, NnxRngs& rngs, ValueId x, const Sizes& sizes, int number) {
  const auto [width, heads, key_heads, key_size, hidden, ffw_dtype] = sizes;
  const ValueId wq = parameter(module, rngs, "q", {width, heads, key_size}, {"d_model", "query_heads", "key_dim"});
  const ValueId wk = parameter(module, rngs, "k", {width, key_heads, key_size}, {"d_model", "key_heads", "key_dim"});
  const ValueId wv = parameter(module, rngs, "v", {width, key_heads, key_size}, {"d_model", "key_heads", "key_dim"});
  const ValueId proj = parameter(module, rngs, "proj", {heads, key_size, width}, {"query_heads", "key_dim", "d_model"});
  const ValueId w1 = parameter(module, rngs, "w1", {width, hidden}, {"d_model", "d_ff"});
  const ValueId w2 = parameter(module, rngs, "w2", {hidden, width}, {"d_ff", "d_model"});
  const Module norm1 = module.child("norm1"), norm2 = module.child("norm2");
  const ValueId gamma1 = norm1.parameter("gamma", rngs.skip(constant_initialiser(1, {width})), {"d_model"});
  const ValueId gamma2 = norm2.parameter("gamma", rngs.skip(constant_initialiser(1, {width})), {"d_model"});

  const PlaceScope place(module.graph(), number);
  auto in_f32 = [&](const std::string& name, ValueId value) { return module.child(name).cast(value, DType::f32); };
  auto attention = [&](ValueId y) {
    const ValueId q = in_f32("q", module.child("q").product(y, wq, "btd,dhk->bthk"));
    const ValueId k = in_f32("k", module.child("k").product(y, wk, "btd,dhk->bthk"));
    const ValueId v = in_f32("v", module.child("v").product(y, wv, "btd,dhk->bthk"));
    y = module.attention({q, k, v}, {})[0];
    return module.child("proj").product(y, proj, "bthk,hkd->btd");
  };
  auto ffw = [&](ValueId y) {
    const PlaceScope part(module.graph(), LayerPart::mlp);
    y = module.child("w1").cast(module.child("w1").product(y, w1, "btd,df->btf"), ffw_dtype);
    y = module.append("gelu", {y});
    return module.child("w2").cast(module.child("w2").product(y, w2, "btf,fd->btd"), ffw_dtype);
  };
  x = module.add(x, attention(rms_norm(norm1, gamma1, x)), "attn_residual");
  return module.add(x, ffw(rms_norm(norm2, gamma2, x)), "ffw_residual");
}

std::vector<Error> check_mintext_transformer(const OptionList& options) {
  std::vector<Error> errors;
  const int64_t heads = integer_option(options, "num_heads"), key_heads = integer_option(options, "kv_heads");
  if (heads % key_heads != 0) {
    std::string divisors;
    for (int64_t n = 1; n <= heads; ++n) {
      if (heads % n == 0) divisors += (divisors.empty() ? "" : ", ") + std::to_string(n);
    }
    errors.push_back({"indivisible", fmt::format("num_heads {} is not a multiple of kv_heads {}", heads, key_heads),
                      "model.kv_heads", "one of " + divisors});
  }
  return errors;
}

// The document's einsums for this case, 'bqhtd,bhsd->bqhts' and 'bqsd,bqhts->bqhtd' of queries (b, kv, group, t, d).
std::vector<Error> mintext_transformer_notes(const OptionList& options) {
  const int64_t heads = integer_option(options, "num_heads"), key_heads = integer_option(options, "kv_heads");
  if (key_heads == 1 || key_heads == heads) return {};
  const int64_t group = heads / key_heads;
  const std::string fault =
      group == key_heads
          ? fmt::format("scores query head i with key head i mod {} but weighs value head i / {}", group, group)
          : fmt::format("fails: 'h' is {} in the queries and {} in the keys", group, key_heads);
  return {{"unlike_document",
           fmt::format("query head i uses key head i / {}; the document's einsum 'bqhtd,bhsd->bqhts' {}", group, fault),
           "model.kv_heads", "there, write 'bqhtd,bqsd->bqhts'"}};
}

Graph build_mintext_transformer(const OptionList& options, const ModelContext& context) {
  const int64_t vocabulary = integer_option(options, "vocab_size"), width = integer_option(options, "d_model");
  const DType compute = compute_dtype(options);
  const DType ffw = compute == DType::bf16 ? compute : dtype_of(options, "ffw_dtype");
  const Sizes sizes{width,
                    integer_option(options, "num_heads"),
                    integer_option(options, "kv_heads"),
                    integer_option(options, "key_dim"),
                    width * integer_option(options, "ffw_multiplier"),
                    ffw};
  Graph graph;
  const auto [tokens, labels] =
      add_tokens_and_labels(graph, context.batch_size, integer_option(options, "seq_len"), vocabulary);
  for (ValueId value : {tokens, labels}) graph.values[value].logical = {"batch", "sequence"};

  const Module model(graph, compute);
  NnxRngs rngs(context.seed);
  const ValueId embedding = parameter(model, rngs, "embedding", {vocabulary, width}, {"vocab", "d_model"});
  ValueId x = model.append("embedding", {tokens, embedding});
  graph.values[x].logical = {"batch", "sequence", "d_model"};
  for (int64_t i = 0; i < integer_option(options, "num_layers"); ++i) {
    x = layer(model.child("layers").child(std::to_string(i)), rngs, x, sizes, static_cast<int>(i));
  }
  const Module head = model.child("logits");
  const ValueId logits = head.cast(head.product(x, embedding, "btd,vd->btv"), DType::f32);
  set_outputs(graph, logits, mean_cross_entropy(graph, logits, labels));
  return graph;
}

std::vector<std::pair<std::string, std::vector<std::string>>> mintext_transformer_captions(const OptionList&) {
  return {{"embedding", {"params", "embedding"}},
          {"layers 0, q", {"params", "layers", "0", "q"}},
          {"layers 0, w1", {"params", "layers", "0", "w1"}}};
}

}  // namespace

ModelDefinition mintext_transformer() {
  return {"mintext_transformer",
          "a transformer with multi-head, grouped-query or multi-query attention (MinText, tutorial 3)",
          {{"vocab_size", int64_t{1024}, true, 2, 1e9, "number of tokens"},
           {"seq_len", int64_t{1024}, true, 1, 1e7, "positions in a sequence"},
           {"d_model", int64_t{512}, true, 1, 1e7, "width of the residual stream"},
           {"num_layers", int64_t{2}, true, 1, 1e3, "transformer blocks"},
           {"num_heads", int64_t{8}, true, 1, 1e5, "query heads"},
           {"kv_heads", int64_t{8}, true, 1, 1e5, "key and value heads; divides num_heads"},
           {"key_dim", int64_t{64}, true, 1, 1e5, "width of a head"},
           {"ffw_multiplier", int64_t{4}, false, 1, 1e4, "width of the feed-forward block, in d_model"},
           compute_dtype_option(),
           dtype_option("ffw_dtype", "type to which the document casts in the feed-forward block")},
          check_mintext_transformer,
          build_mintext_transformer,
          mintext_transformer_captions,
          {"Step {number}, Loss: {loss}", 1, false, "Average step time: {seconds:.4f} seconds"},
          mintext_transformer_notes};
}

}  // namespace shardscope
