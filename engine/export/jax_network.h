#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/base/random.h"
#include "engine/export/jax_arrays.h"
#include "engine/graph/graph.h"

namespace shardscope {

// The forward pass of a graph as Python functions: one for each block (a layer, a module of several ops), with loops
// over layers that are alike, and those of its ops. Parameters are nested dicts by their paths, with numbers as
// integers: params["blocks"][0]["mha"]["query"]["kernel"].
struct JaxNetwork {
  std::string source;
  // Lines that end with `return loss, {other metric: value}`, of `params`, `batch` and, where it drops out, `keys`.
  std::string losses;
  std::map<std::string, StepKey> dropped;  // by the path of its key in `keys`
};

// `layers`: the name and value of a constant that counts layers. Throws Failure (not_exportable): an op that JAX has
// not, or an activation is pinned that the program makes without a variable.
JaxNetwork jax_network(const Graph& forward, const JaxArrays& arrays, const ScheduleConfig& schedule,
                       const std::pair<std::string, int64_t>& layers, const std::function<void(double share)>& tell);

}  // namespace shardscope
