#include "models/families.h"
#include "models/rotary_config.h"

namespace shardscope {

namespace {

// transformers' GptOssForCausalLM: attention with sinks, every second layer in a window, experts with biases.
DecoderOptions read_gpt_oss(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_common(config, {.head_size = 64, .key_heads = 8, .positions = 131072});
  config.without_effect(
      {"pad_token_id", "attention_dropout", "hidden_act", "initial_context_length", "experts_per_token"});
  options.experts.balance = read_balance(config);
  options.norm.epsilon = config.number("rms_norm_eps", 1e-5, 0, 1);
  options.head_bias = options.output_bias = config.boolean("attention_bias", true);
  options.sinks = true;
  DecoderExperts& experts = options.experts;
  experts.count = read_expert_count(config, "num_local_experts", "num_experts", 128);
  experts.inner = options.inner;
  experts.choice.k = config.integer("num_experts_per_tok", 4, 1, 256);
  experts.choice.normalise = true;  // the softmax of the chosen logits
  experts.router_bias = experts.by_turns = true;
  experts.alpha = config.number("swiglu_alpha", 1.702, 1e-6, 1e6);
  experts.limit = config.number("swiglu_limit", 7, 1e-6, 1e12);
  if (experts.choice.k > experts.count) {
    config.fail("num_experts_per_tok", "out_of_range", "it is more than there are experts",
                "at most num_local_experts");
    experts.choice.k = experts.count;
  }
  options.names.router = "router";
  std::vector<bool> sliding;
  for (size_t i = 0; i < options.layers.size(); ++i) sliding.push_back(i % 2 == 0);
  sliding = read_layer_types(config, options.layers.size()).value_or(sliding);
  const int64_t window = config.maybe_integer("sliding_window").value_or(config.says("sliding_window") ? 0 : 128);
  const RotaryDefaults defaults{
      .theta = 150000, .head_size = options.head_size, .positions = options.positions, .sequence = sequence};
  const bool says_rotary = config.says("rope_parameters") || config.says("rope_scaling");
  RotaryScaling scaling = read_rotary(config, defaults);
  if (!says_rotary) {
    scaling.kind = RotaryScaling::Kind::yarn;
    scaling.factor = 32;
    scaling.truncate = false;
    scaling.original_positions = 4096;
    scaling.magnitude = yarn_magnitude(scaling.factor);
  }
  set_layers(options, rotary_attributes(scaling), window, sliding);
  for (DecoderLayer& layer : options.layers) layer.experts = true;
  return options;
}

}  // namespace

std::vector<ModelFamily> gpt_oss_families() { return {{"gpt_oss", read_gpt_oss}}; }

}  // namespace shardscope
