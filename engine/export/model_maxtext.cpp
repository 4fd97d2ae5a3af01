#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/export/portable_model.h"

namespace shardscope {

namespace {

// model_name (MaxText/configs/models, 2025).
constexpr std::pair<const char*, const char*> maxtext_models[] = {
    {"llama3.1-8b", "llama-3.1-8b"},       {"llama3.1-70b", "llama-3.1-70b"},  {"llama3.1-405b", "llama-3.1-405b"},
    {"mixtral-8x7b", "mixtral-8x7b"},      {"mixtral-8x22b", "mixtral-8x22b"}, {"deepseek3-671b", "deepseek-v3"},
    {"gemma3-27b", "gemma-3-27b-text"},    {"qwen3-30b-a3b", "qwen3-30b-a3b"}, {"gpt-oss-120b", "gpt-oss-120b"},
    {"qwen3-235b-a22b", "qwen3-235b-a22b"}};

// Shapes of MaxText/configs/base.yml, of the blocks that Llama, Mistral and Mixtral have.
std::string shaped(StrategySettings& settings) {
  const std::string block = settings.text("decoder_block", "llama2");
  if (block != "llama2" && block != "mistral" && block != "mixtral")
    settings.fail("decoder_block", fmt::format("layers of '{}' are not made from shapes", block),
                  "llama2, mistral or mixtral, a model_name, or --run with a run file that has the model");
  const int64_t scale = settings.integer("global_parameter_scale", 1);
  if (scale > 1) settings.fail("global_parameter_scale", "shapes are scaled", "1, and the shapes themselves");
  const int64_t experts = settings.integer("num_experts", 1);
  nlohmann::ordered_json config;
  config["model_type"] = experts > 1 ? "mixtral" : "llama";
  config["hidden_size"] = settings.integer("base_emb_dim", 2048);
  config["intermediate_size"] = settings.integer("base_mlp_dim", 7168);
  config["num_hidden_layers"] = settings.integer("base_num_decoder_layers", 16);
  config["num_attention_heads"] = settings.integer("base_num_query_heads", 16);
  config["num_key_value_heads"] = settings.integer("base_num_kv_heads", 16);
  config["head_dim"] = settings.integer("head_dim", 128);
  config["vocab_size"] = settings.integer("vocab_size", 32000);
  config["max_position_embeddings"] = settings.integer("max_target_length", 2048);
  config["rope_theta"] = settings.number("rope_max_timescale", 10000);
  config["rms_norm_eps"] = settings.number("normalization_layer_epsilon", 1e-5);
  config["tie_word_embeddings"] = settings.flag("logits_via_embedding");
  if (experts > 1) {
    config["num_local_experts"] = experts;
    config["num_experts_per_tok"] = settings.integer("num_experts_per_tok", 1);
  }
  return config.dump(1) + "\n";
}

}  // namespace

PortableModel maxtext_model(const std::string& text, const std::string& file) {
  StrategySettings settings = maxtext_settings(text, file);
  PortableModel model;
  const std::string name = settings.text("model_name", "default");
  model.config = name == "default" ? shaped(settings) : published_model(settings, "model_name", name, maxtext_models);
  model.sequence_length = settings.integer("max_target_length", 2048);
  const std::string type = settings.text("dtype", "bfloat16"), quantised = settings.text("quantization", "");
  model.precision.compute = quantised.starts_with("fp8") ? "f8" : type == "float32" ? "f32" : "bf16";
  model.precision.parameters = settings.text("weight_dtype", "float32") == "bfloat16" ? "bf16" : "f32";
  settings.finish();
  return model;
}

}  // namespace shardscope
