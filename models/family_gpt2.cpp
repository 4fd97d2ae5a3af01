#include <cmath>

#include "models/families.h"

namespace shardscope {

namespace {

// transformers' GPT2LMHeadModel. Linear layers are stored as (in, out).
DecoderOptions read_gpt2(ModelConfig& config, int64_t) {
  read_nothing(config);
  config.without_effect({"pad_token_id", "resid_pdrop", "embd_pdrop", "attn_pdrop", "summary_type", "summary_use_proj",
                         "summary_activation", "summary_proj_to_labels", "summary_first_dropout",
                         "reorder_and_upcast_attn", "n_ctx", "gradient_checkpointing"});
  DecoderOptions options;
  options.vocabulary = config.integer("vocab_size", {}, 2);
  options.width = config.integer("n_embd", {}, 2, 10'000'000);
  options.inner = config.integer("n_inner", 4 * options.width, 1, 10'000'000);
  options.heads = options.key_heads = config.integer("n_head", {}, 1, 100'000);
  options.positions = config.integer("n_positions", 1024);
  options.layers.resize(static_cast<size_t>(config.integer("n_layer", {}, 1, 10'000)));
  options.tied = config.boolean("tie_word_embeddings", true);
  options.deviation = config.number("initializer_range", 0.02, 0, 1);
  require_multiple_of(config, "n_embd", options.width, "n_head", options.heads);
  options.head_size = std::max<int64_t>(options.width / options.heads, 1);
  options.norm = {
      .kind = DecoderNorm::Kind::layer, .epsilon = config.number("layer_norm_epsilon", 1e-5, 0, 1), .bias = true};
  options.gated = false;
  options.in_out = options.learned_positions = true;
  options.head_bias = options.output_bias = options.inner_bias = true;
  options.activation = read_activation(config, "activation_function", "gelu_new");
  const bool scaled = config.boolean("scale_attn_weights", true);
  const bool by_layer = config.boolean("scale_attn_by_inverse_layer_idx", false);
  for (size_t i = 0; i < options.layers.size(); ++i) {
    options.layers[i].scale = (scaled ? 1 / std::sqrt(static_cast<double>(options.head_size)) : 1) /
                              (by_layer ? static_cast<double>(i) + 1 : 1);
  }
  if (config.boolean("add_cross_attention", false)) {
    config.fail("add_cross_attention", "cross_attention", "attention to an encoder is not supported", "false");
  }
  options.names = {.token_embedding = "transformer/wte",
                   .position_embedding = "transformer/wpe",
                   .layers = "transformer/h",
                   .final_norm = "transformer/ln_f",
                   .attention_norm = "ln_1",
                   .feed_forward_norm = "ln_2",
                   .attention = "attn",
                   .output = "c_proj",
                   .joined_heads = "c_attn",
                   .up = "c_fc",
                   .down = "c_proj"};
  return options;
}

}  // namespace

std::vector<ModelFamily> gpt2_families() { return {{"gpt2", read_gpt2}}; }

}  // namespace shardscope
