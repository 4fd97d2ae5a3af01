#include <algorithm>
#include <cmath>

#include "models/families.h"
#include "models/rotary_config.h"

namespace shardscope {

namespace {

// transformers' DeepseekV3ForCausalLM, without multi-token prediction: latent attention, a router of sigmoids in groups
// whose bias is not trained, a shared expert, dense first layers.
DecoderOptions read_deepseek_v3(ModelConfig& config, int64_t sequence) {
  DecoderOptions options = read_common(config, {.head_size = 2, .is_latent = true, .positions = 4096});
  config.without_effect({"pad_token_id", "attention_dropout", "pretraining_tp", "num_mtp_layers",
                         "num_nextn_predict_layers", "ep_size", "aux_loss_alpha", "seq_aux", "head_dim",
                         "qk_head_dim"});
  config.without_effect({"router_aux_loss_coef"});
  if (config.boolean("output_router_logits", false)) {
    config.fail("output_router_logits", "router_loss", "the loss that balances experts is not supported", "false");
  }
  if (options.key_heads != options.heads) {
    config.fail("num_key_value_heads", "indivisible", "latent attention has as many key heads", "num_attention_heads");
    options.key_heads = options.heads;
  }
  options.norm.epsilon = config.number("rms_norm_eps", 1e-6, 0, 1);
  options.activation = read_activation(config, "hidden_act", "silu");
  config.text("scoring_func", "sigmoid", {"sigmoid"});
  config.text("topk_method", "noaux_tc", {"noaux_tc"});
  config.integer("moe_layer_freq", 1, 1, 1);

  DecoderLatent latent;
  constexpr int64_t most = 1'000'000;
  latent.query_rank = config.maybe_integer("q_lora_rank", 1, most).value_or(config.says("q_lora_rank") ? 0 : 1536);
  latent.rank = config.integer("kv_lora_rank", 512, 1, most);
  latent.plain = config.integer("qk_nope_head_dim", 128, 1, most);
  latent.rotary = config.integer("qk_rope_head_dim", 64, 2, most);
  latent.value = config.integer("v_head_dim", 128, 1, most);
  latent.bias = config.boolean("attention_bias", false);
  options.latent = latent;

  options.experts.count = read_expert_count(config, "n_routed_experts", "num_local_experts", 256);
  options.experts.inner = config.integer("moe_intermediate_size", 2048, 1, 10'000'000);
  options.experts.shared_inner = options.experts.inner * config.integer("n_shared_experts", 1, 0, 1000);
  options.experts.choice_bias = true;
  TopKAttributes& choice = options.experts.choice;
  choice.score = TopKAttributes::Score::sigmoid;
  choice.k = config.integer("num_experts_per_tok", 8, 1, 256);
  choice.normalise = config.boolean("norm_topk_prob", true);
  choice.scale = config.number("routed_scaling_factor", 2.5, 1e-6, 1e6);
  choice.groups = config.integer("n_group", 8, 1, 100'000);
  choice.chosen_groups = config.integer("topk_group", 4, 1, 100'000);
  const bool grouped = options.experts.count % choice.groups == 0 && choice.chosen_groups <= choice.groups &&
                       choice.k <= options.experts.count / choice.groups * choice.chosen_groups;
  if (!grouped) {
    config.fail("n_group", "indivisible", "experts, groups and choices do not fit each other",
                "groups divide n_routed_experts, and those of topk_group hold num_experts_per_tok");
    choice.k = choice.groups = choice.chosen_groups = 1;
  }
  const auto dense = static_cast<size_t>(config.integer("first_k_dense_replace", 3, 0, 10'000));
  for (size_t i = dense; i < options.layers.size(); ++i) options.layers[i].experts = true;

  const RotaryDefaults defaults{.head_size = latent.rotary, .positions = options.positions, .sequence = sequence};
  const RotaryScaling scaling = read_rotary(config, defaults);
  RotaryAttributes rotary = rotary_attributes(scaling);
  rotary.interleaved = config.boolean("rope_interleave", true);
  set_layers(options, rotary);
  for (DecoderLayer& layer : options.layers) {
    layer.scale = scaling.score_magnitude * scaling.score_magnitude /
                  std::sqrt(static_cast<double>(latent.plain + latent.rotary));
  }
  return options;
}

}  // namespace

std::vector<ModelFamily> deepseek_families() { return {{"deepseek_v3", read_deepseek_v3}}; }

}  // namespace shardscope
