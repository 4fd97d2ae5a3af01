#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/export/portable_model.h"

namespace shardscope {

namespace {

constexpr const char* other_model = "--run with a run file that has the model";

int64_t required(StrategySettings& settings, const std::string& key) {
  if (!settings.has(key))
    settings.fail(key, "is missing: the model's shape needs it", fmt::format("--{} N, or {}", key, other_model));
  return settings.integer(key, 1);
}

// What Megatron-LM's arguments (megatron/training/arguments.py) can ask of a layer, and no family here has.
void refuse_others(StrategySettings& settings) {
  for (const char* key :
       {"squared-relu", "multi-latent-attention", "apply-layernorm-1p", "moe-shared-expert-intermediate-size",
        "window-size", "hybrid-override-pattern", "mtp-num-layers", "encoder-num-layers"}) {
    if (settings.has(key)) settings.fail(key, "is not made from arguments", other_model);
  }
}

// Rows of the embedding: as many for each tensor-parallel device, a multiple of --make-vocab-size-divisible-by.
int64_t padded_vocabulary(StrategySettings& settings) {
  const int64_t multiple =
      settings.integer("make-vocab-size-divisible-by", 128) * settings.integer("tensor-model-parallel-size", 1);
  return (required(settings, "vocab-size") + multiple - 1) / multiple * multiple;
}

void say_shape(StrategySettings& settings, nlohmann::ordered_json& config, bool is_gated) {
  const int64_t width = required(settings, "hidden-size"), heads = required(settings, "num-attention-heads");
  const int64_t usual = is_gated ? 4 * width * 2 / 3 / 64 * 64 : 4 * width;
  config["hidden_size"] = width;
  config["intermediate_size"] = settings.integer("ffn-hidden-size", usual);
  config["num_hidden_layers"] = required(settings, "num-layers");
  config["num_attention_heads"] = heads;
  config["num_key_value_heads"] =
      settings.flag("group-query-attention") ? settings.integer("num-query-groups", 1) : heads;
  config["head_dim"] = settings.integer("kv-channels", std::max<int64_t>(1, width / heads));
  config["vocab_size"] = padded_vocabulary(settings);
  config["max_position_embeddings"] = settings.integer("max-position-embeddings", settings.integer("seq-length", 2048));
  config["rope_theta"] = settings.number("rotary-base", 10000);
  config["rms_norm_eps"] = settings.number("norm-epsilon", 1e-5);
  config["tie_word_embeddings"] = !settings.flag("untie-embeddings-and-output-weights");
}

// RMS norms, rotary positions, gated feed-forwards: Llama, Qwen2 (biases of queries, keys and values), Qwen3 (norms of
// queries and keys), with experts Mixtral and Qwen3's.
std::string gated(StrategySettings& settings) {
  const int64_t experts = settings.integer("num-experts", 1);
  const bool has_norms = settings.flag("qk-layernorm"), has_bias = settings.flag("add-qkv-bias");
  if (!settings.flag("disable-bias-linear"))
    settings.fail("swiglu", "gated layers with biases are not made from arguments",
                  fmt::format("--disable-bias-linear, or {}", other_model));
  if (has_bias && (has_norms || experts > 1))
    settings.fail("add-qkv-bias", "is not made from arguments beside norms of queries, or experts", other_model);
  nlohmann::ordered_json config;
  config["model_type"] = experts > 1 ? (has_norms ? "qwen3_moe" : "mixtral")
                         : has_norms ? "qwen3"
                         : has_bias  ? "qwen2"
                                     : "llama";
  say_shape(settings, config, true);
  if (has_bias) config.erase("head_dim");
  if (experts == 1) return config.dump(1) + "\n";
  const int64_t inner = settings.integer("moe-ffn-hidden-size", config["intermediate_size"]);
  config[has_norms ? "moe_intermediate_size" : "intermediate_size"] = inner;
  config[has_norms ? "num_experts" : "num_local_experts"] = experts;
  config["num_experts_per_tok"] = settings.integer("moe-router-topk", 2);
  return config.dump(1) + "\n";
}

// Layer norms, learned positions, biases: GPT-2.
std::string plain(StrategySettings& settings) {
  for (const char* key :
       {"num-experts", "group-query-attention", "qk-layernorm", "disable-bias-linear", "kv-channels"}) {
    if (settings.flag(key)) settings.fail(key, "is made from arguments in layers with --swiglu alone", other_model);
  }
  nlohmann::ordered_json shape, config;
  say_shape(settings, shape, false);
  config["model_type"] = "gpt2";
  config["n_embd"] = shape["hidden_size"];
  config["n_inner"] = shape["intermediate_size"];
  config["n_layer"] = shape["num_hidden_layers"];
  config["n_head"] = shape["num_attention_heads"];
  config["vocab_size"] = shape["vocab_size"];
  config["n_positions"] = shape["max_position_embeddings"];
  config["layer_norm_epsilon"] = shape["rms_norm_eps"];
  config["activation_function"] = settings.flag("openai-gelu") ? "gelu_new" : "gelu";
  config["tie_word_embeddings"] = shape["tie_word_embeddings"];
  return config.dump(1) + "\n";
}

}  // namespace

PortableModel megatron_model(const std::string& text, const std::string& file) {
  StrategySettings settings = megatron_settings(text, file);
  PortableModel model;
  refuse_others(settings);
  const bool is_rms = settings.text("normalization", "LayerNorm") == "RMSNorm";
  const bool is_rotary = settings.text("position-embedding-type", "learned_absolute") == "rope" ||
                         settings.flag("use-rotary-position-embeddings");
  const bool is_gated = settings.flag("swiglu");
  if (is_gated != is_rms || is_gated != is_rotary) {
    settings.fail(is_gated ? "swiglu"
                  : is_rms ? "normalization"
                           : "position-embedding-type",
                  "RMS norms, rotary positions and --swiglu are made together alone", other_model);
  }
  model.config = is_gated ? gated(settings) : plain(settings);
  model.sequence_length = required(settings, "seq-length");
  model.precision.recipe = settings.has("fp8-format") ? "fp8_mixed"
                           : settings.flag("bf16")    ? "bf16_mixed"
                           : settings.flag("fp16")    ? "f16_mixed"
                                                      : "f32";
  settings.finish();
  return model;
}

}  // namespace shardscope
