#include "engine/export/portable_model.h"

namespace shardscope {

namespace {

// [model] name and flavor (torchtitan/models, 2025).
constexpr std::pair<const char*, const char*> torchtitan_models[] = {
    {"llama3 8B", "llama-3.1-8b"},       {"llama3 70B", "llama-3.1-70b"},    {"llama3 405B", "llama-3.1-405b"},
    {"deepseek_v3 671B", "deepseek-v3"}, {"qwen3 30B-A3B", "qwen3-30b-a3b"}, {"qwen3 235B-A22B", "qwen3-235b-a22b"}};

}  // namespace

PortableModel torchtitan_model(const std::string& text, const std::string& file) {
  StrategySettings settings = torchtitan_settings(text, file);
  PortableModel model;
  const std::string name = settings.text("model.name", "");
  model.config =
      published_model(settings, settings.has("model.flavor") ? "model.flavor" : "model.name",
                      name.empty() ? name : name + " " + settings.text("model.flavor", ""), torchtitan_models);
  model.sequence_length = settings.integer("training.seq_len", 2048);
  const bool is_f8 = settings.text("model.converters", "").find("float8") != std::string::npos;
  const bool is_f32 = settings.text("training.mixed_precision_param", "bfloat16") == "float32";
  model.precision.compute = is_f8 ? "f8" : is_f32 ? "f32" : "bf16";
  model.precision.parameters = "f32";
  settings.finish();
  return model;
}

}  // namespace shardscope
