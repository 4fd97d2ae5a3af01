#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/compile/settings.h"
#include "engine/machine/host_machine.h"
#include "tests/machine/host_rates.h"

namespace shardscope::test {

// A preset, at a size that trains in milliseconds and divides on every mesh of up to eight devices.
struct SystemPreset {
  std::string name;
  std::vector<std::string> small;
  int mesh_axes = 2;
};

inline const std::vector<SystemPreset>& system_presets() {
  const std::vector<std::string> small_tiny_lm{"model.vocab_size=64", "model.seq_len=16", "model.d_model=32",
                                               "model.n_layers=2",    "model.d_ff=64",    "data.batch_size=16"};
  const std::vector<std::string> small_decoder{"model.overrides.vocab_size=64", "model.overrides.hidden_size=32",
                                               "model.overrides.intermediate_size=48", "data.sequence_length=16",
                                               "data.batch_size=16"};
  static const std::vector<SystemPreset> presets{
      {"tiny_lm_dp", small_tiny_lm, 1},
      {"tiny_lm_fsdp", small_tiny_lm, 1},
      {"nnx_gpt2",
       {"model.vocab_size=64", "model.seq_len=16", "model.embed_dim=32", "model.ff_dim=64", "model.num_heads=8",
        "data.batch_size=16"}},
      {"tiny_text",
       {"model.seq_len=16", "model.embed_dim=32", "model.ff_dim=64", "model.num_heads=8", "data.batch_size=16",
        "data.evaluate_every=2", "data.evaluate_batches=2"}},
      {"mintext_mlp", {"data.batch_size=16"}},
      {"mintext_transformer",
       {"model.vocab_size=32", "model.seq_len=8", "model.d_model=16", "model.num_heads=8", "model.kv_heads=8",
        "model.key_dim=4", "data.kind=random_rolled"}},
      {"logical_dot_relu_dot", {"model.embed_dim=16", "model.hidden_dim=32", "data.batch_size=16"}},
      {"tensor_parallel_mlp", {"model.d_model=16", "model.d_ff=32", "data.batch_size=16"}, 1},
      {"workshop_tp",
       {"model.seq_len=8", "model.hidden_size=32", "model.num_heads=8", "model.ffn_hidden_size=64",
        "data.batch_size=8"}},
      {"workshop_sequence", {"model.seq_len=8", "model.hidden_size=32", "model.num_heads=8", "data.batch_size=8"}, 3},
      {"workshop_sequence_megatron",
       {"model.seq_len=8", "model.hidden_size=32", "model.num_heads=8", "model.ffn_hidden_size=64",
        "data.batch_size=8"},
       3},
      {"workshop_gpipe",
       {"mesh.pipeline=1", "model.input=32",
        R"(model.layers=["linear 64", "relu", "linear 64", "relu", "linear 32", "relu", "linear 32", "relu", "linear 16", "relu", "linear 8"])"},
       1},
      {"workshop_zero_bubble",
       {"mesh.pipeline=1", "model.input=8x6x1",
        R"(model.layers=["conv 8 3x3", "relu", "conv 8 3x3 stride 2", "relu", "conv 16 3x2 valid", "relu", "flatten", "linear 16", "relu", "linear 8"])"},
       1},
      {"llama_tiny", small_decoder},
      {"qwen3_tiny", small_decoder},
      {"gemma3_tiny", small_decoder},
      {"mixtral_tiny", small_decoder},
      {"deepseek_v3_tiny", small_decoder},
      {"gpt_oss_tiny", small_decoder},
  };
  return presets;
}

inline const SystemPreset& system_preset(const std::string& name) {
  for (const SystemPreset& preset : system_presets()) {
    if (preset.name == name) return preset;
  }
  throw std::out_of_range("no system preset is called " + name);
}

// Three machines with little in common.
inline std::vector<Machine> unlike_machines() {
  Machine slow_network = reference_host();
  test::copy_rate(slow_network) = 1e7;
  test::rendezvous_latency(slow_network) = 1e-2;
  test::product_rate(slow_network) = 50e12;
  Machine slow_products = reference_host();
  test::copy_rate(slow_products) = 900e9;
  test::rendezvous_latency(slow_products) = 1e-9;
  test::product_rate(slow_products) = 1e8;
  test::memory_rate(slow_products) = 1e7;
  slow_products.device.instruction_latency = 1e-9;
  return {reference_host(), slow_network, slow_products};
}

// Steps, axes, layouts and bytes, in words.
inline std::string program_of(const Plan& plan) {
  std::string text;
  for (const Instruction& instruction : plan.instructions()) {
    text += std::string(name(instruction.kind())) + " " + plan.instruction_name(instruction) + " " +
            std::to_string(instruction.wire_bytes());
    for (AxisIndex axis : instruction.axes()) text += " over " + std::to_string(axis);
    for (int value : instruction.operands()) text += " " + to_string(plan.program.values[value].sharding, plan.mesh);
    for (int value : instruction.destinations())
      text += " " + to_string(plan.program.values[value].sharding, plan.mesh);
    text += '\n';
  }
  for (const ValueLayout& layout : plan.layouts) text += layout.name + " " + layout.origin.text + "\n";
  return text;
}

// All meshes of this many axes with 1, 2, 4 or 8 devices.
inline std::vector<std::vector<int64_t>> meshes_of(int axes, int64_t devices = 8) {
  if (axes == 0) return {{}};
  std::vector<std::vector<int64_t>> meshes;
  for (int64_t size = 1; size <= devices; size *= 2) {
    for (std::vector<int64_t> rest : meshes_of(axes - 1, devices / size)) {
      rest.insert(rest.begin(), size);
      meshes.push_back(std::move(rest));
    }
  }
  return meshes;
}

// Megatron's split of a decoder over axis model, and its experts over axis expert.
inline SpecRule rule_for_experts() {
  SpecRule rule;
  rule.placement = LogicalAxes{{{"experts", {"expert"}},
                                {"heads", {"model"}},
                                {"kv_heads", {"model"}},
                                {"mlp", {"model"}},
                                {"vocab", {"model"}}}};
  return rule;
}

inline RunConfig system_run(const std::string& name, const std::vector<std::string>& settings,
                            const std::vector<int64_t>& mesh = {}) {
  RunConfig config = load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets" / (name + ".json"));
  config = with_settings(config, settings);
  for (size_t i = 0; i < mesh.size(); ++i) config.mesh_axes[i].size = mesh[i];
  return config;
}

inline std::string text_of(const std::string& name, const std::vector<int64_t>& mesh, LayoutMode mode) {
  std::string text = name;
  for (size_t i = 0; i < mesh.size(); ++i) text += (i == 0 ? " " : "x") + std::to_string(mesh[i]);
  return text + (mode == LayoutMode::fastest ? " fastest" : " as written");
}

}  // namespace shardscope::test
