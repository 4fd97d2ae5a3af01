#include <cmath>

#include "models/families.h"
#include "models/rotary_config.h"

namespace shardscope {

namespace {

// What Gemma 2 and 3 share.
DecoderOptions read_gemma(ModelConfig& config, int64_t positions) {
  DecoderOptions options =
      read_common(config, {.head_size = 256, .key_heads = 4, .positions = positions, .tied = true});
  config.without_effect({"pad_token_id", "attention_dropout", "hidden_act", "cache_implementation"});
  options.norm = {.epsilon = config.number("rms_norm_eps", 1e-6, 0, 1), .plus_one = true};
  options.placement = NormPlacement::both;
  options.names.after_attention_norm = "post_attention_layernorm";
  options.names.feed_forward_norm = "pre_feedforward_layernorm";
  options.names.after_feed_forward_norm = "post_feedforward_layernorm";
  options.activation = read_activation(config, "hidden_activation", "gelu_pytorch_tanh");
  options.head_bias = options.output_bias = config.boolean("attention_bias", false);
  options.embedding_scale = std::sqrt(static_cast<double>(options.width));
  const double scalar = config.number("query_pre_attn_scalar", 256, 1e-6, 1e12);
  for (DecoderLayer& layer : options.layers) layer.scale = 1 / std::sqrt(scalar);
  if (config.boolean("use_bidirectional_attention", false)) {
    config.fail("use_bidirectional_attention", "not_causal", "attention to later positions is not supported", "false");
  }
  return options;
}

std::vector<bool> every_nth_full(size_t layers, int64_t n) {
  std::vector<bool> sliding;
  for (size_t i = 0; i < layers; ++i) sliding.push_back((static_cast<int64_t>(i) + 1) % n != 0);
  return sliding;
}

int64_t read_window(ModelConfig& config) {
  return config.maybe_integer("sliding_window").value_or(config.says("sliding_window") ? 0 : 4096);
}

double read_cap(ModelConfig& config, const std::string& field, double otherwise) {
  return config.maybe_number(field, 1e-6, 1e12).value_or(config.says(field) ? 0 : otherwise);
}

// transformers' Gemma2ForCausalLM.
DecoderOptions read_gemma2(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_gemma(config, 8192);
  options.score_cap = read_cap(config, "attn_logit_softcapping", 50);
  options.logit_cap = read_cap(config, "final_logit_softcapping", 30);
  const RotaryDefaults rotary{.head_size = options.head_size, .positions = options.positions, .sequence = sequence};
  const std::vector<bool> sliding =
      read_layer_types(config, options.layers.size()).value_or(every_nth_full(options.layers.size(), 2));
  set_layers(options, rotary_attributes(read_rotary(config, rotary)), read_window(config), sliding);
  return options;
}

// transformers' Gemma3ForCausalLM: full layers have other positions than sliding ones.
DecoderOptions read_gemma3(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_gemma(config, 131072);
  options.head_norm = HeadNorm::head;
  config.without_effect({"attn_logit_softcapping"});  // its attention has no cap
  options.logit_cap = read_cap(config, "final_logit_softcapping", 0);
  const int64_t saved = config.integer("_sliding_window_pattern", 6, 1, 10'000);  // as transformers writes it
  const int64_t pattern = config.integer("sliding_window_pattern", saved, 1, 10'000);
  const std::vector<bool> sliding =
      read_layer_types(config, options.layers.size()).value_or(every_nth_full(options.layers.size(), pattern));
  RotaryDefaults full{.theta = config.number("rope_theta", 1e6, 1.0001, 1e15),
                      .head_size = options.head_size,
                      .positions = options.positions,
                      .sequence = sequence};
  RotaryDefaults local = full;
  local.theta = config.number("rope_local_base_freq", 1e4, 1.0001, 1e15);
  RotaryScaling of_full, of_sliding;
  of_full.size = of_sliding.size = options.head_size;
  of_full.theta = full.theta;
  of_sliding.theta = local.theta;
  if (std::optional<ModelConfig> parameters = config.object("rope_parameters")) {
    if (auto part = parameters->object("full_attention")) {
      of_full = read_rotary_parameters(*part, full);
      part->finish();
    }
    if (auto part = parameters->object("sliding_attention")) {
      of_sliding = read_rotary_parameters(*part, local);
      part->finish();
    }
    parameters->finish();
  }
  if (std::optional<ModelConfig> scaling = config.object("rope_scaling")) {
    full.theta = of_full.theta;
    of_full = read_rotary_parameters(*scaling, full);
    scaling->finish();
  }
  if (options.head_size % 2 != 0) config.fail("head_dim", "out_of_range", "a head of an odd size", "an even one");
  set_layers(options, rotary_attributes(of_sliding), read_window(config), sliding);
  const RotaryAttributes in_full = rotary_attributes(of_full);
  for (size_t i = 0; i < sliding.size(); ++i) {
    if (!sliding[i]) options.layers[i].rotary = in_full;
  }
  return options;
}

}  // namespace

std::vector<ModelFamily> gemma_families() { return {{"gemma2", read_gemma2}, {"gemma3_text", read_gemma3}}; }

}  // namespace shardscope
