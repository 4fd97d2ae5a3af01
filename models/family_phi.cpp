#include "models/families.h"
#include "models/rotary_config.h"

namespace shardscope {

namespace {

// transformers' Phi3ForCausalLM: queries, keys and values are one parameter, gate and up another.
DecoderOptions read_phi3(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_common(config, {.positions = 4096});
  config.without_effect({"pad_token_id", "attention_dropout", "resid_pdrop", "embd_pdrop", "attention_bias"});
  options.norm.epsilon = config.number("rms_norm_eps", 1e-5, 0, 1);
  options.activation = read_activation(config, "hidden_act", "silu");
  options.names.joined_heads = "qkv_proj";
  options.names.joined_gate = "gate_up_proj";
  const int64_t window = config.maybe_integer("sliding_window").value_or(0);
  const RotaryDefaults rotary{.head_size = options.head_size,
                              .positions = options.positions,
                              .sequence = sequence,
                              .takes_partial = true,
                              .original_positions = config.integer("original_max_position_embeddings", 4096)};
  const RotaryScaling scaling = read_rotary(config, rotary);
  if (scaling.kind != RotaryScaling::Kind::standard && scaling.kind != RotaryScaling::Kind::longrope) {
    config.fail("rope_parameters", "unknown_choice", "rotary positions of this type",
                "default or longrope, as transformers has it");
  }
  set_layers(options, rotary_attributes(scaling), window);
  return options;
}

}  // namespace

std::vector<ModelFamily> phi_families() { return {{"phi3", read_phi3}}; }

}  // namespace shardscope
