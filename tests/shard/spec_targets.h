#pragma once

#include <string>
#include <vector>

#include "engine/shard/spec_rules.h"

namespace shardscope::test {

// The arrays of a decoder as the presets know them, at any number of layers: parameters with logical names, and a few
// activations a layer.
inline std::vector<SpecTarget> decoder_targets(int layers) {
  std::vector<SpecTarget> targets;
  auto add = [&](const std::string& name, Shape shape, std::vector<std::string> logical) {
    targets.push_back({"params/" + name, SpecKind::parameter, {std::move(shape)}, std::move(logical)});
  };
  add("Embed_0/embedding", {1024, 512}, {"vocab", "embed"});
  add("PositionalEmbedding_0/pos_embedding", {128, 512}, {"length", "embed"});
  for (int layer = 0; layer < layers; ++layer) {
    const std::string block = "SelfAttentionBlock_" + std::to_string(layer) + "/";
    for (const char* projection : {"key", "query", "value"}) {
      add(block + "SelfAttention_0/" + projection + "/kernel", {512, 8, 64}, {"embed", "heads", "kv"});
      add(block + "SelfAttention_0/" + projection + "/bias", {8, 64}, {"heads", "kv"});
    }
    add(block + "SelfAttention_0/out/kernel", {8, 64, 512}, {"heads", "kv", "embed"});
    add(block + "SelfAttention_0/out/bias", {512}, {"embed"});
    for (const char* norm : {"LayerNorm_0/", "LayerNorm_1/"}) {
      add(block + norm + "scale", {512}, {"embed"});
      add(block + norm + "bias", {512}, {"embed"});
    }
    add(block + "MLP_0/Dense_0/kernel", {512, 2048}, {"embed", "mlp"});
    add(block + "MLP_0/Dense_0/bias", {2048}, {"mlp"});
    add(block + "MLP_0/Dense_1/kernel", {2048, 512}, {"mlp", "embed"});
    add(block + "MLP_0/Dense_1/bias", {512}, {"embed"});
    for (const char* name : {"LayerNorm_0/layer_norm", "SelfAttention_0/attention", "MLP_0/gelu", "add"})
      targets.push_back({block + name, SpecKind::activation, {{64, 128, 512}}, {"batch", "length", "embed"}});
  }
  add("Dense_0/kernel", {512, 1024}, {"embed", "vocab"});
  add("Dense_0/bias", {1024}, {"vocab"});
  targets.push_back({"tokens", SpecKind::input, {{64, 128}, DType::i32}, {"batch", "length"}});
  targets.push_back({"labels", SpecKind::input, {{64, 128}, DType::i32}, {"batch", "length"}});
  targets.push_back({"logits", SpecKind::output, {{64, 128, 1024}}, {"batch", "length", "vocab"}});
  return targets;
}

}  // namespace shardscope::test
