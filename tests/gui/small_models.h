#pragma once

#include "gui/window/presets.h"

namespace shardscope::made {

// A GPT of some layers, small enough to plan in a moment, on a mesh of `batch` x `model` devices.
inline RunConfig small_gpt(int64_t layers, int64_t batch, int64_t model, int64_t microbatches = 1) {
  RunConfig config = load_preset("nnx_gpt2");
  const auto set = [](NamedOptions& group, const std::string& name, int64_t value) {
    for (auto& [option, held] : group.options)
      if (option == name) held = value;
  };
  for (const auto& [name, value] : {std::pair<const char*, int64_t>{"vocab_size", 64},
                                    {"seq_len", 16},
                                    {"embed_dim", 32},
                                    {"ff_dim", 64},
                                    {"num_heads", 2},
                                    {"num_layers", layers}})
    set(config.model, name, value);
  set(config.data, "batch_size", 8);
  config.mesh_axes = {{"batch", batch}, {"model", model}};
  config.schedule.microbatches = microbatches;
  config.steps = 4;
  return config;
}

// The same with two stages behind each other.
inline RunConfig piped_gpt(int64_t layers, int64_t batch, int64_t model, int64_t microbatches) {
  RunConfig config = small_gpt(layers, batch, model, microbatches);
  config.mesh_axes.push_back({"pipeline", 2});
  config.pipeline.axis = "pipeline";
  return config;
}

}  // namespace shardscope::made
