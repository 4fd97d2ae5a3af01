#include <algorithm>

#include "models/families.h"
#include "models/rotary_config.h"

namespace shardscope {

namespace {

void read_choice(ModelConfig& config, DecoderOptions& options, const std::string& count, const std::string& also,
                 bool normalise) {
  options.experts.count = read_expert_count(config, count, also);
  options.experts.choice.k = config.integer("num_experts_per_tok", {}, 1, 256);
  options.experts.choice.normalise = normalise;
  if (options.experts.choice.k <= options.experts.count) return;
  config.fail("num_experts_per_tok", "out_of_range", "it is more than there are experts", "at most " + count);
  options.experts.choice.k = options.experts.count;
}

// transformers' MixtralForCausalLM.
DecoderOptions read_mixtral(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_common(config, {.key_heads = 8, .positions = 4096 * 32});
  config.without_effect({"pad_token_id", "attention_dropout"});
  options.experts.balance = read_balance(config);
  if (config.number("router_jitter_noise", 0, 0, 1) > 0) {
    config.fail("router_jitter_noise", "jitter", "noise on the router's inputs is not supported", "0");
  }
  options.norm.epsilon = config.number("rms_norm_eps", 1e-5, 0, 1);
  options.activation = read_activation(config, "hidden_act", "silu");
  options.experts.inner = options.inner;
  read_choice(config, options, "num_local_experts", "num_experts", true);
  for (DecoderLayer& layer : options.layers) layer.experts = true;
  const int64_t window = config.maybe_integer("sliding_window").value_or(0);
  const RotaryDefaults rotary{
      .theta = 1e6, .head_size = options.head_size, .positions = options.positions, .sequence = sequence};
  set_layers(options, rotary_attributes(read_rotary(config, rotary)), window);
  return options;
}

// transformers' Qwen3MoeForCausalLM: Qwen 3 with experts in every decoder_sparse_step-th layer but mlp_only_layers.
DecoderOptions read_qwen3_moe(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_common(config, {.key_heads = 4, .positions = 32768});
  config.without_effect({"pad_token_id", "attention_dropout", "max_window_layers"});
  options.experts.balance = read_balance(config);
  options.norm.epsilon = config.number("rms_norm_eps", 1e-6, 0, 1);
  options.activation = read_activation(config, "hidden_act", "silu");
  options.head_bias = options.output_bias = config.boolean("attention_bias", false);
  options.head_norm = HeadNorm::head;
  options.experts.inner = config.integer("moe_intermediate_size", 768, 1, 10'000'000);
  read_choice(config, options, "num_experts", "num_local_experts", config.boolean("norm_topk_prob", false));
  const int64_t step = config.integer("decoder_sparse_step", 1, 1, 10'000);
  const std::vector<int64_t> dense = config.integers("mlp_only_layers", 0, 10'000);
  for (size_t i = 0; i < options.layers.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    options.layers[i].experts = (number + 1) % step == 0 && std::ranges::find(dense, number) == dense.end();
  }
  const bool slides = config.boolean("use_sliding_window", false);
  const int64_t window = config.maybe_integer("sliding_window").value_or(config.says("sliding_window") ? 0 : 4096);
  const RotaryDefaults rotary{.head_size = options.head_size, .positions = options.positions, .sequence = sequence};
  set_layers(options, rotary_attributes(read_rotary(config, rotary)), slides ? window : 0);
  return options;
}

}  // namespace

std::vector<ModelFamily> mixtral_families() { return {{"mixtral", read_mixtral}, {"qwen3_moe", read_qwen3_moe}}; }

}  // namespace shardscope
