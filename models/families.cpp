#include "models/families.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "models/quantization_config.h"

namespace shardscope {

const std::vector<ModelFamily>& model_families() {
  static const std::vector<ModelFamily> all = [] {
    std::vector<ModelFamily> list;
    for (auto families : {llama_families, qwen_families, gemma_families, olmo_families, phi_families, nemotron_families,
                          gpt2_families, mpt_families, mixtral_families, deepseek_families, gpt_oss_families}) {
      for (const ModelFamily& family : families()) list.push_back(family);
    }
    return list;
  }();
  return all;
}

void require_multiple_of(ModelConfig& config, const std::string& field, int64_t value, const std::string& of,
                         int64_t divisor) {
  if (divisor > 0 && value % divisor == 0) return;
  config.fail(field, "indivisible", fmt::format("{} {} is not a multiple of {} {}", field, value, of, divisor),
              "another size");
}

void read_nothing(ModelConfig& config) {
  config.without_effect({"model_type",
                         "architectures",
                         "_name_or_path",
                         "name_or_path",
                         "transformers_version",
                         "use_cache",
                         "bos_token_id",
                         "eos_token_id",
                         "auto_map",
                         "attn_implementation",
                         "_attn_implementation",
                         "return_dict",
                         "output_hidden_states",
                         "output_attentions",
                         "torchscript",
                         "use_bfloat16",
                         "id2label",
                         "label2id",
                         "problem_type",
                         "tokenizer_class",
                         "task_specific_params",
                         "keys_to_ignore_at_inference",
                         "is_encoder_decoder",
                         "chunk_size_feed_forward",
                         "pruned_heads",
                         "output_past",
                         "_num_labels",
                         "_attn_implementation_autoset"});
  read_quantization(config);
}

DecoderOptions read_common(ModelConfig& config, const CommonDefaults& defaults) {
  read_nothing(config);
  DecoderOptions options;
  options.vocabulary = config.integer("vocab_size", {}, 2);
  options.width = config.integer("hidden_size", {}, 2, 10'000'000);
  options.inner = config.integer("intermediate_size", {}, 1, 10'000'000);
  options.heads = config.integer("num_attention_heads", {}, 1, 100'000);
  const bool as_many = config.is_null("num_key_value_heads") || !defaults.key_heads;
  options.key_heads = config.integer("num_key_value_heads", as_many ? options.heads : *defaults.key_heads, 1, 100'000);
  options.positions = config.integer("max_position_embeddings", defaults.positions);
  options.layers.resize(static_cast<size_t>(config.integer("num_hidden_layers", {}, 1, 10'000)));
  options.tied = config.boolean("tie_word_embeddings", defaults.tied);
  options.deviation = config.number("initializer_range", defaults.deviation, 0, 1);
  std::optional<int64_t> head_size = config.maybe_integer("head_dim", 2, 1'000'000);
  if (!head_size && (!config.is_null("head_dim") || defaults.is_latent)) head_size = defaults.head_size;
  if (!head_size) require_multiple_of(config, "hidden_size", options.width, "num_attention_heads", options.heads);
  options.head_size = head_size.value_or(std::max<int64_t>(options.width / options.heads, 1));
  require_multiple_of(config, "num_attention_heads", options.heads, "num_key_value_heads", options.key_heads);
  if (options.heads % options.key_heads != 0) options.key_heads = options.heads;
  return options;
}

int64_t read_expert_count(ModelConfig& config, const std::string& field, const std::string& also,
                          std::optional<int64_t> otherwise) {
  constexpr int64_t most = 100'000;
  const std::optional<int64_t> other = config.maybe_integer(also, 1, most);
  const int64_t count = config.integer(field, other ? other : otherwise, 1, most);
  if (!other || *other == count) return count;
  config.fail(also, "contradiction", fmt::format("{} and {} are {} and {}", field, also, count, *other),
              "the same number, or one of the two fields");
  return count;
}

double read_balance(ModelConfig& config) {
  const double coefficient = config.number("router_aux_loss_coef", 0.001, 0, 1e6);
  return config.boolean("output_router_logits", false) ? coefficient : 0;
}

Activation read_activation(ModelConfig& config, const std::string& field, const std::string& otherwise) {
  static const std::vector<std::pair<std::string, Activation>> names{
      {"silu", {"silu"}},
      {"swish", {"silu"}},
      {"gelu", {"gelu_exact"}},
      {"gelu_new", {"gelu"}},
      {"gelu_pytorch_tanh", {"gelu"}},
      {"relu", {"relu"}},
      {"relu2", {"relu", true}},
  };
  std::vector<std::string> choices;
  for (const auto& [name, activation] : names) choices.push_back(name);
  const std::string chosen = config.text(field, otherwise, choices);
  return std::ranges::find(names, chosen, &std::pair<std::string, Activation>::first)->second;
}

std::optional<std::vector<bool>> read_layer_types(ModelConfig& config, size_t layers) {
  const std::optional<TextList> types = config.texts("layer_types", {"full_attention", "sliding_attention"});
  if (!types) return std::nullopt;
  std::vector<bool> sliding;
  for (const std::string& type : *types) sliding.push_back(type == "sliding_attention");
  if (sliding.size() != layers) {
    config.fail(
        "layer_types", "layer_count",
        fmt::format("{} for {}", counted(std::ssize(sliding), "type"), counted(static_cast<int64_t>(layers), "layer")),
        "one for each of num_hidden_layers");
    sliding.resize(layers);
  }
  return sliding;
}

void set_layers(DecoderOptions& options, const RotaryAttributes& rotary, int64_t window,
                const std::vector<bool>& sliding) {
  for (size_t i = 0; i < options.layers.size(); ++i) {
    options.layers[i].rotary = rotary;
    if (sliding.empty() || sliding[i]) options.layers[i].window = window;
  }
}

}  // namespace shardscope
