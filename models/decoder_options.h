#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/ops/rotary.h"
#include "engine/ops/top_k.h"
#include "models/registry.h"

namespace shardscope {

// What a decoder-only transformer can be. Families of models are choices of these.

struct DecoderNorm {
  enum class Kind : uint8_t { rms, layer } kind = Kind::rms;
  double epsilon = 1e-6;
  bool plus_one = false;  // scaled by 1 + weight
  bool bias = false;      // of layer norms
};

// Where a layer normalises: what its two halves take, what they give, or both.
enum class NormPlacement : uint8_t { before, after, both };
// Which queries and keys are normalised before their positions: none, each head, or all heads as one row.
enum class HeadNorm : uint8_t { none, head, whole };

// An op of one operand without attributes; its result may be squared.
struct Activation {
  std::string op;
  bool squared = false;
};

struct DecoderLayer {
  std::optional<RotaryAttributes> rotary;
  int64_t window = 0;    // 0: all positions before
  double scale = 0;      // of scores; 0: 1 / sqrt(head_size)
  bool experts = false;  // in the place of a feed-forward layer
};

// A mixture of experts, each a gated feed-forward layer, of which every position chooses some.
struct DecoderExperts {
  int64_t count = 0, inner = 0;
  TopKAttributes choice;
  bool router_bias = false;  // of the logits
  bool choice_bias = false;  // of the compared scores: a state that is not trained
  int64_t shared_inner = 0;  // of a feed-forward layer that every position passes as well; 0: none
  // gpt-oss: kernels are stored as (experts, in, out) with gate and up columns by turns, all with biases, and
  // down((up + 1) gate sigmoid(alpha gate)) of gate and up clipped at `limit`.
  bool by_turns = false;
  double alpha = 1, limit = 0;
  // Rows that a block of experts takes of a block of tokens, over those that it gets where all experts are chosen
  // equally often; 0: as many as may come.
  double capacity_factor = 0;
  double balance = 0;  // what the loss that balances experts counts in the loss (models/decoder_experts.h)
};

// Latent attention (DeepSeek-V2): queries, and keys and values, are made from normalised rows of these ranks; of a
// head's query and key the last `rotary` elements are turned, those of the key the same for all heads.
struct DecoderLatent {
  int64_t query_rank = 0;  // 0: queries are made directly
  int64_t rank = 0, plain = 0, rotary = 0, value = 0;
  bool bias = false;  // of the layers that make the rows, and of the output
};

// Modules by the names that they have on disk, "/" for ".": of parameters "weight" and "bias" below them.
struct DecoderNames {
  std::string token_embedding = "model/embed_tokens", position_embedding = {}, layers = "model/layers";
  std::string final_norm = "model/norm", head = "lm_head";
  // Within a layer.
  std::string attention_norm = "input_layernorm", after_attention_norm = {};
  std::string feed_forward_norm = "post_attention_layernorm", after_feed_forward_norm = {};
  std::string attention = "self_attn", query = "q_proj", key = "k_proj", value = "v_proj", output = "o_proj";
  std::string joined_heads = {};  // queries, keys and values in one
  std::string query_norm = "q_norm", key_norm = "k_norm";
  std::string feed_forward = "mlp", gate = "gate_proj", up = "up_proj", down = "down_proj";
  std::string joined_gate = {};  // gate and up in one
  std::string router = "gate", experts = "experts", shared_experts = "shared_experts";
};

// Low-rank adapters (LoRA, E. Hu et al., 2021) of linear layers: x W^T + scale (x A^T) B^T.
struct DecoderAdapters {
  int64_t rank = 0;  // 0: none
  double scale = 1;
  std::vector<std::string> targets;  // last parts of the layers' names
};

struct DecoderOptions {
  int64_t vocabulary = 0, width = 0, inner = 0, heads = 0, key_heads = 0, head_size = 0;
  int64_t positions = 0;  // the longest sequence
  std::vector<DecoderLayer> layers;
  DecoderNorm norm;
  NormPlacement placement = NormPlacement::before;
  HeadNorm head_norm = HeadNorm::none;
  bool head_bias = false, output_bias = false, inner_bias = false;
  bool in_out = false;  // weights of linear layers are stored as (in, out), else as (out, in)
  bool gated = true;
  Activation activation = {"silu"};
  bool learned_positions = false;
  std::vector<float> slopes;            // ALiBi
  double score_cap = 0, logit_cap = 0;  // soft caps; 0: none
  double head_clip = 0;                 // queries, keys and values are clipped to +- this; 0: not
  double embedding_scale = 1;
  bool tied = false;        // the head multiplies by the token embedding
  double deviation = 0.02;  // of random first values
  DecoderExperts experts;
  std::optional<DecoderLatent> latent;
  bool sinks = false;          // of attention, one score a head
  std::optional<DType> dtype;  // that its files say it is meant for
  DecoderNames names;
  DecoderAdapters adapters;
  TokenBlocks blocks;
  int64_t ring_blocks = 1;  // of the length, that keys and values go round; 1: attention of all keys at once
};

}  // namespace shardscope
