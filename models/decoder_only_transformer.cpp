#include "models/decoder_only_transformer.h"

#include "engine/ops/registry.h"
#include "models/compute_dtype.h"
#include "models/linen.h"
#include "models/losses.h"
#include "models/multiple_of.h"

namespace shardscope {

namespace {

std::vector<Error> check_decoder_only_transformer(const OptionList& options) {
  std::vector<Error> errors;
  require_multiple(options, "embed_dim", "num_heads", errors);
  return errors;
}

ValueId mlp(const Linen& module, ValueId x, int64_t embed) {
  const PlaceScope place(module.graph(), LayerPart::mlp);
  x = module.child("Dense_0").dense(x, "bse,ef->bsf", {embed, 4 * embed}, {"embed", "mlp"});
  x = module.gelu(x);
  x = module.dropout(x, 0);
  return module.child("Dense_1").dense(x, "bsf,fe->bse", {4 * embed, embed}, {"mlp", "embed"});
}

ValueId block(const Linen& module, ValueId x, ValueId tokens, int64_t embed, int64_t heads, int64_t layer) {
  const PlaceScope place(module.graph(), static_cast<int>(layer));
  ValueId y = module.child("LayerNorm_0").layer_norm(x);
  y = module.child("SelfAttention_0").self_attention(y, tokens, heads);
  y = module.dropout(y, 0);
  x = module.residual(y, x);
  y = module.child("LayerNorm_1").layer_norm(x);
  y = mlp(module.child("MLP_0"), y, embed);
  y = module.dropout(y, 1);
  return module.residual(y, x);
}

Graph build_decoder_only_transformer(const OptionList& options, const ModelContext& context) {
  int64_t vocabulary = integer_option(options, "vocab_size"), sequence = integer_option(options, "seq_len");
  int64_t embed = integer_option(options, "embed_dim"), heads = integer_option(options, "num_heads");
  Graph graph;
  const auto [tokens, labels] = add_tokens_and_labels(graph, context.batch_size, sequence, vocabulary);

  double rate = context.deterministic ? 0.0 : real_option(options, "dropout_rate");
  Linen model(graph, context.seed, rate, compute_dtype(options));
  ValueId x = model.child("Embed_0").embed(tokens, vocabulary, embed);
  x = model.child("PositionalEmbedding_0").add_positions(x, "pos_embedding", 0.02);
  x = model.dropout(x, 0);
  for (int64_t layer = 0; layer < integer_option(options, "num_layers"); ++layer) {
    x = block(model.child("SelfAttentionBlock_" + std::to_string(layer)), x, tokens, embed, heads, layer);
  }
  ValueId logits = model.child("Dense_0").dense(x, "bse,ev->bsv", {embed, vocabulary}, {"embed", "vocab"});

  set_outputs(graph, logits, mean_cross_entropy(graph, logits, labels));
  return graph;
}

// The five drawings of the document's train(), under the document's captions (its last two say "MLP_0" of the head).
std::vector<std::pair<std::string, std::vector<std::string>>> decoder_only_transformer_captions(
    const OptionList& options) {
  std::string last = "SelfAttentionBlock_" + std::to_string(integer_option(options, "num_layers") - 1);
  return {{"Embed_0, embedding", {"params", "Embed_0", "embedding"}},
          {last + ", MLP_0, Dense_1, kernel", {"params", last, "MLP_0", "Dense_1", "kernel"}},
          {last + ", MLP_0, Dense_1, bias", {"params", last, "MLP_0", "Dense_1", "bias"}},
          {"Dense_0, MLP_0, kernel", {"params", "Dense_0", "kernel"}},
          {"Dense_0, MLP_0, bias", {"params", "Dense_0", "bias"}}};
}

}  // namespace

ModelDefinition decoder_only_transformer() {
  return {"decoder_only_transformer",
          "the decoder-only transformer of the Parallax document (Flax Linen), with dropout unless deterministic",
          {{"vocab_size", int64_t{1024}, true, 2, 1e9, "number of tokens"},
           {"seq_len", int64_t{128}, true, 1, 1e7, "positions in a sequence"},
           {"embed_dim", int64_t{512}, true, 1, 1e7, "width of the residual stream"},
           {"num_layers", int64_t{2}, true, 1, 1e3, "transformer blocks"},
           {"num_heads", int64_t{8}, true, 1, 1e5, "attention heads; divides embed_dim"},
           {"dropout_rate", 0.1, false, 0, 0.999, "share of elements dropped when not deterministic"},
           compute_dtype_option()},
          check_decoder_only_transformer,
          build_decoder_only_transformer,
          decoder_only_transformer_captions,
          {.unit = "Epoch"}};
}

}  // namespace shardscope
