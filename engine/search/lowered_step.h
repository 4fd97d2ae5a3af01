#pragma once

#include <optional>
#include <vector>

#include "engine/compile/written_training.h"
#include "engine/config/run_config.h"
#include "engine/graph/repeated_layers.h"
#include "engine/mesh/mesh.h"
#include "engine/program/program.h"
#include "engine/search/network_parts.h"
#include "engine/shard/work_prices.h"

namespace shardscope {

// A training step as written of a shortened network, for one stage that has all of it.
struct LoweredStep {
  std::vector<EqualLayers> layers;
  RunConfig config;
  bool accumulates = false;  // gradients, over microbatches or for an update apart
  std::optional<WrittenTraining> written;
  std::optional<WorkPrices> prices;
  Mesh mesh;
  Program program;

  const Graph& graph() const { return written->training->graph; }
  NetworkParts parts() const { return {graph(), layers.back().kept + layers.back().kept_count}; }
};

}  // namespace shardscope
