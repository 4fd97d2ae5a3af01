#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/config/override.h"
#include "engine/config/parse.h"

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
  static const std::vector<SystemPreset> presets{
      {"tiny_lm_dp", small_tiny_lm, 1},
      {"tiny_lm_fsdp", small_tiny_lm, 1},
      {"nnx_gpt2",
       {"model.vocab_size=64", "model.seq_len=16", "model.embed_dim=32", "model.ff_dim=64", "model.num_heads=8",
        "data.batch_size=16"}},
  };
  return presets;
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

inline RunConfig system_run(const std::string& name, const std::vector<std::string>& settings,
                            const std::vector<int64_t>& mesh = {}) {
  RunConfig config = load_run_config(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets" / (name + ".json"));
  config = apply_overrides(config, settings, settable_paths(config));
  for (size_t i = 0; i < mesh.size(); ++i) config.mesh_axes[i].size = mesh[i];
  return config;
}

inline std::string text_of(const std::string& name, const std::vector<int64_t>& mesh, LayoutMode mode) {
  std::string text = name;
  for (size_t i = 0; i < mesh.size(); ++i) text += (i == 0 ? " " : "x") + std::to_string(mesh[i]);
  return text + (mode == LayoutMode::cheapest ? " cheapest" : " as written");
}

}  // namespace shardscope::test
