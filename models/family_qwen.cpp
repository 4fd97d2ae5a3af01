#include "models/families.h"
#include "models/rotary_config.h"

namespace shardscope {

namespace {

// Which layers slide: those from max_window_layers on, where use_sliding_window says so.
void read_windows(ModelConfig& config, DecoderOptions& options, const RotaryAttributes& rotary) {
  const bool uses = config.boolean("use_sliding_window", false);
  const bool says_window = config.says("sliding_window");
  int64_t window = config.maybe_integer("sliding_window").value_or(says_window ? 0 : 4096);
  if (!uses) window = 0;
  const int64_t first = config.integer("max_window_layers", 28, 0);
  std::vector<bool> sliding(options.layers.size());
  for (size_t i = 0; i < sliding.size(); ++i) sliding[i] = window > 0 && static_cast<int64_t>(i) >= first;
  sliding = read_layer_types(config, options.layers.size()).value_or(sliding);
  for (bool slides : sliding) {
    if (!slides || window > 0) continue;
    config.fail("layer_types", "no_window", "a sliding layer without a window",
                "use_sliding_window and sliding_window");
    break;
  }
  set_layers(options, rotary, window, sliding);
}

DecoderOptions read_qwen(ModelConfig& config, int64_t sequence, const CommonDefaults& defaults) {
  DecoderOptions options = read_common(config, defaults);
  config.without_effect({"pad_token_id", "attention_dropout"});
  if (config.boolean("use_mrope", false)) {
    config.fail("use_mrope", "unknown_choice", "rotary positions of images are not supported", "false");
  }
  options.norm.epsilon = config.number("rms_norm_eps", 1e-6, 0, 1);
  options.activation = read_activation(config, "hidden_act", "silu");
  const RotaryDefaults rotary{.head_size = options.head_size, .positions = options.positions, .sequence = sequence};
  read_windows(config, options, rotary_attributes(read_rotary(config, rotary)));
  return options;
}

// transformers' Qwen2ForCausalLM: biases of queries, keys and values.
DecoderOptions read_qwen2(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_qwen(config, sequence, {.positions = 32768});
  options.head_bias = true;
  return options;
}

// transformers' Qwen3ForCausalLM: queries and keys are normalised head by head.
DecoderOptions read_qwen3(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_qwen(config, sequence, {.head_size = 128, .positions = 32768});
  options.head_bias = options.output_bias = config.boolean("attention_bias", false);
  options.head_norm = HeadNorm::head;
  return options;
}

}  // namespace

std::vector<ModelFamily> qwen_families() { return {{"qwen2", read_qwen2}, {"qwen3", read_qwen3}}; }

}  // namespace shardscope
