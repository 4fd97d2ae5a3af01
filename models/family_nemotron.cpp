#include "models/families.h"
#include "models/rotary_config.h"

namespace shardscope {

namespace {

// transformers' NemotronForCausalLM: layer norms scaled by 1 + weight, half of each head turned, squared relu.
DecoderOptions read_nemotron(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_common(config, {.positions = 4096, .deviation = 0.0134});
  config.without_effect({"pad_token_id", "attention_dropout", "hidden_dropout"});
  options.norm = {.kind = DecoderNorm::Kind::layer,
                  .epsilon = config.number("norm_eps", 1e-5, 0, 1),
                  .plus_one = true,
                  .bias = true};
  options.gated = false;
  options.activation = read_activation(config, "hidden_act", "relu2");
  options.head_bias = options.output_bias = config.boolean("attention_bias", false);
  options.inner_bias = config.boolean("mlp_bias", false);
  const RotaryDefaults rotary{.partial = 0.5,
                              .head_size = options.head_size,
                              .positions = options.positions,
                              .sequence = sequence,
                              .takes_partial = true};
  set_layers(options, rotary_attributes(read_rotary(config, rotary)));
  return options;
}

}  // namespace

std::vector<ModelFamily> nemotron_families() { return {{"nemotron", read_nemotron}}; }

}  // namespace shardscope
