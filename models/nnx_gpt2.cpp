#include "models/nnx_gpt2.h"

#include <algorithm>

#include "models/compute_dtype.h"
#include "models/initialisers.h"
#include "models/losses.h"
#include "models/multiple_of.h"
#include "models/nnx.h"

namespace shardscope {

namespace {

std::vector<Error> check_nnx_gpt2(const OptionList& options) {
  std::vector<Error> errors;
  require_multiple(options, "embed_dim", "num_heads", errors);
  return errors;
}

bool is_tied(const OptionList& options) { return bool_option(options, "tied_embedding"); }

ValueId mlp(const Nnx& module, ValueId x, int64_t embed, int64_t hidden) {
  const PlaceScope place(module.graph(), LayerPart::mlp);
  x = module.child("linear1").linear(x, hidden, "mlp", xavier_uniform);
  x = module.gelu(x);
  return module.child("linear2").linear(x, embed, "embed", xavier_uniform);
}

ValueId block(const Nnx& module, ValueId x, int64_t embed, int64_t heads, int64_t hidden, int64_t layer) {
  const PlaceScope place(module.graph(), static_cast<int>(layer));
  ValueId y = module.child("layer_norm1").layer_norm(x);
  y = module.child("mha").causal_self_attention(y, heads, xavier_uniform);
  y = module.child("dropout1").dropout(y);
  x = module.residual(x, y);
  y = mlp(module, module.child("layer_norm2").layer_norm(x), embed, hidden);
  y = module.child("dropout2").dropout(y);
  return module.residual(x, y);
}

Graph build_nnx_gpt2(const OptionList& options, const ModelContext& context) {
  const int64_t vocabulary = integer_option(options, "vocab_size"), embed = integer_option(options, "embed_dim");
  const int64_t heads = integer_option(options, "num_heads"), hidden = integer_option(options, "ff_dim");
  Graph graph;
  const auto [tokens, labels] =
      add_tokens_and_labels(graph, context.batch_size, integer_option(options, "seq_len"), vocabulary);

  NnxRngs rngs(context.seed);
  const Nnx model(Module(graph, compute_dtype(options)), rngs,
                  context.deterministic ? 0.0 : real_option(options, "dropout_rate"));
  const ValueId embedded = model.child("token_emb").embed(tokens, vocabulary, embed);
  ValueId x = model.child("pos_emb").add_positions(embedded);
  for (int64_t layer = 0; layer < integer_option(options, "num_layers"); ++layer) {
    x = block(model.child("blocks").child(std::to_string(layer)), x, embed, heads, hidden, layer);
  }
  x = model.child("layer_norm").layer_norm(x);
  const ValueId logits =
      is_tied(options) ? model.child("token_emb").attend(x, embedded)
                       : model.child("head").linear(x, vocabulary, "vocab", nnx_default_kernel, /*use_bias=*/false);

  set_outputs(graph, logits, mean_cross_entropy(graph, logits, labels));
  return graph;
}

std::vector<std::pair<std::string, std::vector<std::string>>> nnx_gpt2_captions(const OptionList&) {
  return {{"blocks, 0, mha, query, kernel", {"params", "blocks", "0", "mha", "query", "kernel"}},
          {"blocks, 0, linear1, kernel", {"params", "blocks", "0", "linear1", "kernel"}},
          {"blocks, 0, linear2, kernel", {"params", "blocks", "0", "linear2", "kernel"}}};
}

}  // namespace

ModelDefinition nnx_gpt2() {
  return {"nnx_gpt2",
          "a GPT-2 in Flax NNX, with dropout unless deterministic",
          {{"vocab_size", int64_t{512}, false, 2, 1e9, "number of tokens"},
           {"seq_len", int64_t{64}, false, 1, 1e7, "positions in a sequence"},
           {"embed_dim", int64_t{256}, false, 1, 1e7, "width of the residual stream"},
           {"ff_dim", int64_t{1024}, false, 1, 1e7, "width of the MLP's hidden layer"},
           {"num_heads", int64_t{8}, false, 1, 1e5, "attention heads; divides embed_dim"},
           {"num_layers", int64_t{2}, false, 1, 1e3, "transformer blocks"},
           {"tied_embedding", false, false, 0, 0, "the head multiplies by the token embedding, as GPT-2 does"},
           {"dropout_rate", 0.1, false, 0, 0.999, "share of elements dropped when not deterministic"},
           compute_dtype_option()},
          check_nnx_gpt2,
          build_nnx_gpt2,
          nnx_gpt2_captions};
}

}  // namespace shardscope
