#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "engine/plan/schedules/schedule.h"
#include "tests/laws/serial_training.h"

namespace shardscope::test {

// A preset on a mesh with an axis of stages more.
struct PipelineCase {
  std::string schedule = "1f1b";
  int64_t stages = 2;
  std::vector<int64_t> mesh{1, 1};  // of a stage
  int64_t microbatches = 4;
  std::string policy = "none";
  int64_t zero = 0;
  LayoutMode mode = LayoutMode::fastest;

  std::string text() const {
    return fmt::format("{} {}x{}x{} in {} {} zero {} {}", schedule, mesh[0], mesh[1], stages, microbatches, policy,
                       zero, mode == LayoutMode::fastest ? "fastest" : "as written");
  }
};

// nnx_gpt2 with four layers: attention, MLPs, layer norms, an embedding and a head.
inline RunConfig four_layers(const std::vector<std::string>& more = {}) {
  std::vector<std::string> small = system_preset("nnx_gpt2").small;
  small.insert(small.end(), {"model.num_layers=4", "deterministic=true"});
  small.insert(small.end(), more.begin(), more.end());
  return system_run("nnx_gpt2", small, {1, 1});
}

inline RunConfig in_stages(RunConfig config, const PipelineCase& one) {
  for (size_t i = 0; i < one.mesh.size(); ++i) config.mesh_axes[i].size = one.mesh[i];
  config.mesh_axes.push_back({"pipeline", one.stages});
  config.pipeline = {"pipeline", one.schedule, one.schedule == "interleaved" ? 4 / one.stages : 1, {}};
  config.schedule.microbatches = one.microbatches;
  config.schedule.rematerialise = one.policy;
  config.sharding.zero.stage = one.zero;
  if (one.zero > 0) config.sharding.zero.axes = {config.mesh_axes[0].name};
  config.sharding.mode = one.mode;
  return config;
}

}  // namespace shardscope::test
