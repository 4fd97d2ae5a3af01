#pragma once

#include <vector>

#include "models/decoder_options.h"
#include "models/model_config.h"

namespace shardscope {

// A family of published models, by the "model_type" of its config.json. `read` makes the decoder for sequences of
// `sequence` positions, reading every field that transformers' class reads; faults go to the config's errors.
struct ModelFamily {
  const char* model_type;
  DecoderOptions (*read)(ModelConfig& config, int64_t sequence);
};
const std::vector<ModelFamily>& model_families();

// Each file gives families that are alike.
std::vector<ModelFamily> llama_families();     // llama, mistral
std::vector<ModelFamily> qwen_families();      // qwen2, qwen3
std::vector<ModelFamily> gemma_families();     // gemma2, gemma3_text
std::vector<ModelFamily> olmo_families();      // olmo2
std::vector<ModelFamily> phi_families();       // phi3
std::vector<ModelFamily> nemotron_families();  // nemotron
std::vector<ModelFamily> gpt2_families();      // gpt2
std::vector<ModelFamily> mpt_families();       // mpt
std::vector<ModelFamily> mixtral_families();   // mixtral, qwen3_moe
std::vector<ModelFamily> deepseek_families();  // deepseek_v3
std::vector<ModelFamily> gpt_oss_families();   // gpt_oss

// What most configs have: vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads,
// num_key_value_heads, head_dim, max_position_embeddings, tie_word_embeddings, initializer_range; layers without
// windows; fields of every config that change nothing.
struct CommonDefaults {
  // Of configs without the field; where it is null it is hidden_size / heads, and heads.
  std::optional<int64_t> head_size = {};  // else hidden_size / heads
  std::optional<int64_t> key_heads = {};  // else heads
  bool is_latent = false;                 // sizes of heads have fields of their own, and head_dim does not count
  int64_t positions = 2048;
  bool tied = false;
  double deviation = 0.02;
};
DecoderOptions read_common(ModelConfig& config, const CommonDefaults& defaults);
// Fields of every config that change nothing; read_common() calls it.
void read_nothing(ModelConfig& config);

// "hidden_act" and its like, by transformers' names.
Activation read_activation(ModelConfig& config, const std::string& field, const std::string& otherwise);
// Which layers are sliding ("layer_types"), where the config says it.
std::optional<std::vector<bool>> read_layer_types(ModelConfig& config, size_t layers);
// Gives every layer these rotary positions, and the window to those that are sliding.
void set_layers(DecoderOptions& options, const RotaryAttributes& rotary, int64_t window = 0,
                const std::vector<bool>& sliding = {});
// How many experts there are, by either of two names.
int64_t read_expert_count(ModelConfig& config, const std::string& field, const std::string& also,
                          std::optional<int64_t> otherwise = {});
// What the loss that balances experts counts: router_aux_loss_coef where output_router_logits asks for it, else 0.
double read_balance(ModelConfig& config);
// A number that must be a multiple of another.
void require_multiple_of(ModelConfig& config, const std::string& field, int64_t value, const std::string& of,
                         int64_t divisor);

}  // namespace shardscope
