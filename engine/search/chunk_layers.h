#pragma once

#include <cstdint>
#include <vector>

#include "engine/graph/repeated_layers.h"

namespace shardscope {

// Layers of one model chunk, or of all chunks of a stage: of each EqualLayers so many.
struct ChunkLayers {
  std::vector<int64_t> count;                   // by group
  bool has_before = false, has_behind = false;  // what is before the layers, or behind them
  int first_group = -1, last_group = -1;        // -1: no layers
  bool operator==(const ChunkLayers&) const = default;
};

// A network of `groups`, cut into chunks of so many layers.
std::vector<ChunkLayers> cut_layers(const std::vector<EqualLayers>& groups, const std::vector<int>& chunks);
// Chunks `stage`, `stage` + `stages`, ... together.
ChunkLayers layers_of_stage(const std::vector<ChunkLayers>& chunks, size_t stage, size_t stages);

}  // namespace shardscope
