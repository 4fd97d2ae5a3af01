#include "models/families.h"
#include "models/rotary_config.h"

namespace shardscope {

namespace {

// transformers' Olmo2ForCausalLM: norms behind both halves of a layer, and of all queries and all keys as one row.
DecoderOptions read_olmo2(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_common(config, {});
  config.without_effect({"pad_token_id", "attention_dropout"});
  options.norm.epsilon = config.number("rms_norm_eps", 1e-5, 0, 1);
  options.placement = NormPlacement::after;
  options.names.after_attention_norm = "post_attention_layernorm";
  options.names.after_feed_forward_norm = "post_feedforward_layernorm";
  options.head_norm = HeadNorm::whole;
  options.activation = read_activation(config, "hidden_act", "silu");
  options.head_bias = options.output_bias = config.boolean("attention_bias", false);
  const RotaryDefaults rotary{.head_size = options.head_size, .positions = options.positions, .sequence = sequence};
  set_layers(options, rotary_attributes(read_rotary(config, rotary)));
  return options;
}

}  // namespace

std::vector<ModelFamily> olmo_families() { return {{"olmo2", read_olmo2}}; }

}  // namespace shardscope
