#include <cmath>

#include "models/families.h"

namespace shardscope {

namespace {

// ALiBi's slopes as transformers' build_mpt_alibi_tensor makes them: powers of 2 down to 2^-8, whatever the config's
// alibi_bias_max; of a number of heads that is no power of 2, those of the next one, every second first.
std::vector<float> mpt_slopes(int64_t heads) {
  int64_t all = 1;
  while (all < heads) all *= 2;
  std::vector<float> slopes;
  for (int64_t i = 1; i <= all; ++i) {
    slopes.push_back(static_cast<float>(std::exp2(-static_cast<double>(i) * 8 / static_cast<double>(all))));
  }
  if (all == heads) return slopes;
  std::vector<float> ordered;
  for (size_t first : {size_t{1}, size_t{0}}) {
    for (size_t i = first; i < slopes.size(); i += 2) ordered.push_back(slopes[i]);
  }
  ordered.resize(static_cast<size_t>(heads));
  return ordered;
}

// transformers' MptForCausalLM: what it does not look at is without effect here as well.
DecoderOptions read_mpt(ModelConfig& config, int64_t) {
  read_nothing(config);
  config.without_effect({"pad_token_id", "expansion_ratio", "resid_pdrop", "emb_pdrop", "learned_pos_emb",
                         "init_device", "logit_scale", "no_bias", "embedding_fraction", "norm_type", "verbose",
                         "tokenizer_name", "init_config"});
  DecoderOptions options;
  options.vocabulary = config.integer("vocab_size", {}, 2);
  options.width = config.integer("d_model", {}, 2, 10'000'000);
  options.inner = 4 * options.width;
  options.heads = options.key_heads = config.integer("n_heads", {}, 1, 100'000);
  options.positions = config.integer("max_seq_len", 2048);
  options.layers.resize(static_cast<size_t>(config.integer("n_layers", {}, 1, 10'000)));
  options.tied = config.boolean("tie_word_embeddings", true);
  options.deviation = config.number("initializer_range", 0.02, 0, 1);
  require_multiple_of(config, "d_model", options.width, "n_heads", options.heads);
  options.head_size = std::max<int64_t>(options.width / options.heads, 1);
  options.norm = {.kind = DecoderNorm::Kind::layer, .epsilon = config.number("layer_norm_epsilon", 1e-5, 0, 1)};
  options.gated = false;
  options.activation = {"gelu_exact"};
  if (std::optional<ModelConfig> attention = config.object("attn_config")) {
    attention->without_effect({"attn_type", "attn_pdrop", "attn_impl", "prefix_lm", "qk_ln", "attn_uses_sequence_id",
                               "alibi", "alibi_bias_max", "model_type", "transformers_version"});
    options.head_clip = attention->number("clip_qkv", 0, 0, 1e12);
    const double scale = attention->maybe_number("softmax_scale", 1e-12, 1e12).value_or(0);
    for (DecoderLayer& layer : options.layers) layer.scale = scale;
    attention->finish();
  }
  options.slopes = mpt_slopes(options.heads);
  options.names = {.token_embedding = "transformer/wte",
                   .layers = "transformer/blocks",
                   .final_norm = "transformer/norm_f",
                   .attention_norm = "norm_1",
                   .feed_forward_norm = "norm_2",
                   .attention = "attn",
                   .output = "out_proj",
                   .joined_heads = "Wqkv",
                   .feed_forward = "ffn"};
  return options;
}

}  // namespace

std::vector<ModelFamily> mpt_families() { return {{"mpt", read_mpt}}; }

}  // namespace shardscope
