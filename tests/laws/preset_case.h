#pragma once

#include <string>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/compile/settings.h"

namespace shardscope {

inline RunConfig load_preset(const std::string& name, const std::vector<std::string>& overrides = {}) {
  RunConfig config = load_run_file(std::string(SHARDSCOPE_SOURCE_DIR) + "/presets/" + name + ".json");
  return with_settings(config, overrides);
}

inline std::vector<std::string> mesh_overrides(int data, int model) {
  return {"mesh.data=" + std::to_string(data), "mesh.model=" + std::to_string(model)};
}

// The preset's structure and specs at a size that trains in milliseconds on every mesh of up to eight devices.
inline std::vector<std::string> small_size() {
  return {"model.vocab_size=64", "model.seq_len=16", "model.embed_dim=32", "model.num_heads=8", "data.batch_size=16"};
}

struct MeshSize {
  int data, model;
};
inline std::vector<MeshSize> all_meshes() { return {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 2}, {2, 4}, {8, 1}, {1, 8}}; }

}  // namespace shardscope
