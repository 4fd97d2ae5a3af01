#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/compile/file_paths.h"

namespace shardscope::test {

inline const std::vector<std::string> preset_names{"parallax_decoder", "parallax_decoder_2"};

struct MeshSizes {
  int64_t data, model;
  std::string text() const { return std::to_string(data) + "x" + std::to_string(model); }
};
inline const std::vector<MeshSizes> preset_meshes{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 2}, {2, 4}, {8, 1}, {1, 8}};

inline RunConfig preset(const std::string& name, MeshSizes mesh, LayoutMode mode) {
  RunConfig config = load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets" / (name + ".json"));
  config.mesh_axes = {{"data", mesh.data}, {"model", mesh.model}};
  config.sharding.mode = mode;
  return config;
}

}  // namespace shardscope::test
