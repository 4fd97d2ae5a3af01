#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/export/jax_arrays.h"

namespace shardscope {

// Mesh and shardings of a run as Python: mesh, SPECS (of parameters, and of optimizer state that is sharded in another
// way than its parameter), INPUTS, constrain(x, spec), shardings(tree) and write_specs(file, tree).
struct JaxShardings {
  std::string source;
  std::optional<std::string> output;  // P(...) of what the model gives, where it is pinned
  bool has_gradients = false;         // SPECS has gradients that lie otherwise than their parameters
};

// `kept`: what the optimizer keeps of each parameter, by Optax's names and ours. Trees have Flax's paths: of Linen
// "params/Dense_0/kernel" behind whatever holds the parameters, of NNX those of nnx.state() of a model or optimizer.
JaxShardings jax_shardings(const JaxArrays& arrays, const std::vector<std::pair<std::string, std::string>>& kept,
                           bool linen);

}  // namespace shardscope
