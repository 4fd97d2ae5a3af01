#include "models/tiny_lm.h"

#include "models/compute_dtype.h"
#include "models/linen.h"
#include "models/losses.h"
#include "models/multiple_of.h"

namespace shardscope {

namespace {

std::vector<Error> check_tiny_lm(const OptionList& options) {
  const int64_t width = integer_option(options, "d_model");
  std::vector<Error> errors;
  require_multiple(options, "d_model", "n_heads", errors);
  if (width % 2 != 0) {
    errors.push_back({"indivisible", "d_model " + std::to_string(width) + " is odd: sines and cosines come in pairs",
                      "model.d_model", "for example " + std::to_string((width + 1) / 2 * 2)});
  }
  return errors;
}

ValueId mlp(const Linen& module, ValueId x, int64_t width, int64_t hidden) {
  const PlaceScope place(module.graph(), LayerPart::mlp);
  x = module.child("Dense_0").dense(x, "bse,ef->bsf", {width, hidden}, {"embed", "mlp"});
  x = module.gelu(x);
  return module.child("Dense_1").dense(x, "bsf,fe->bse", {hidden, width}, {"mlp", "embed"});
}

ValueId block(const Linen& module, ValueId x, int64_t heads, int64_t width, int64_t hidden, int64_t layer) {
  const PlaceScope place(module.graph(), static_cast<int>(layer));
  ValueId y = module.child("LayerNorm_0").layer_norm(x);
  y = module.child("SelfAttention_0").open_self_attention(y, heads);
  x = module.residual(x, y);
  y = mlp(module, module.child("LayerNorm_1").layer_norm(x), width, hidden);
  return module.residual(x, y);
}

Graph build_tiny_lm(const OptionList& options, const ModelContext& context) {
  const int64_t vocabulary = integer_option(options, "vocab_size"), width = integer_option(options, "d_model");
  const int64_t heads = integer_option(options, "n_heads"), hidden = integer_option(options, "d_ff");
  Graph graph;
  const ValueId tokens =
      graph.add_input("tokens", {{context.batch_size, integer_option(options, "seq_len")}, DType::i32});
  graph.limits = {{"tokens", vocabulary}};

  Linen model(graph, context.seed, 0, compute_dtype(options));
  ValueId x = model.child("tok_emb").embed(tokens, vocabulary, width);
  x = model.add_sinusoidal_positions(x, "pos_emb");
  for (int64_t layer = 0; layer < integer_option(options, "n_layers"); ++layer) {
    x = block(model.child("blocks_" + std::to_string(layer)), x, heads, width, hidden, layer);
  }
  x = model.child("ln_f").layer_norm(x);
  const ValueId logits = model.child("head").dense(x, "bse,ev->bsv", {width, vocabulary}, {"embed", "vocab"}, false);

  set_outputs(graph, logits, mean_next_token_cross_entropy(graph, logits, tokens));
  return graph;
}

std::vector<std::pair<std::string, std::vector<std::string>>> tiny_lm_captions(const OptionList&) { return {}; }

}  // namespace

ModelDefinition tiny_lm() {
  return {"tiny_lm",
          "the small language model of \"Implementing Data Parallelism in JAX\" (Flax Linen)",
          {{"vocab_size", int64_t{512}, false, 2, 1e9, "number of tokens"},
           {"seq_len", int64_t{64}, false, 2, 1e7, "positions in a sequence"},
           {"d_model", int64_t{256}, false, 1, 1e7, "width of the residual stream; even"},
           {"n_heads", int64_t{8}, false, 1, 1e5, "attention heads; divides d_model"},
           {"n_layers", int64_t{4}, false, 1, 1e3, "transformer blocks"},
           {"d_ff", int64_t{1024}, false, 1, 1e7, "width of the MLP's hidden layer"},
           compute_dtype_option()},
          check_tiny_lm,
          build_tiny_lm,
          tiny_lm_captions,
          {"[jax-dp] step {step:04d}  loss {loss:.4f}", 10, true}};
}

}  // namespace shardscope
