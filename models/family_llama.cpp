#include "models/families.h"
#include "models/rotary_config.h"

namespace shardscope {

namespace {

// transformers' LlamaForCausalLM.
DecoderOptions read_llama(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_common(config, {});
  config.without_effect({"pad_token_id", "pretraining_tp", "attention_dropout"});
  options.norm.epsilon = config.number("rms_norm_eps", 1e-6, 0, 1);
  options.activation = read_activation(config, "hidden_act", "silu");
  options.head_bias = options.output_bias = config.boolean("attention_bias", false);
  options.inner_bias = config.boolean("mlp_bias", false);
  const RotaryDefaults rotary{.head_size = options.head_size, .positions = options.positions, .sequence = sequence};
  set_layers(options, rotary_attributes(read_rotary(config, rotary)));
  return options;
}

// transformers' MistralForCausalLM.
DecoderOptions read_mistral(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_common(config, {.key_heads = 8, .positions = 4096 * 32});
  config.without_effect({"pad_token_id", "attention_dropout"});
  options.norm.epsilon = config.number("rms_norm_eps", 1e-6, 0, 1);
  options.activation = read_activation(config, "hidden_act", "silu");
  const bool says_window = config.says("sliding_window");
  const int64_t window = config.maybe_integer("sliding_window").value_or(says_window ? 0 : 4096);
  const RotaryDefaults rotary{.head_size = options.head_size, .positions = options.positions, .sequence = sequence};
  set_layers(options, rotary_attributes(read_rotary(config, rotary)), window);
  return options;
}

}  // namespace

std::vector<ModelFamily> llama_families() { return {{"llama", read_llama}, {"mistral", read_mistral}}; }

}  // namespace shardscope
