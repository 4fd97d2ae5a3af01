#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/export/jax_arrays.h"

namespace shardscope {

// Mesh and shardings of a run as Python: mesh, SPECS (of parameters, and of optimizer state that is sharded in another
// way than its parameter), INPUTS, constrain(x, spec), shardings(tree) and write_specs(file, tree).
struct JaxShardings {
  std::string source;
  bool has_gradients = false;  // SPECS has gradients that lie otherwise than their parameters
};

// `kept`: what the optimizer keeps of each parameter, by Optax's names and ours. In trees the paths of
// parameters, "params/Dense_0/kernel", stand behind whatever holds them.
JaxShardings jax_shardings(const JaxArrays& arrays, const std::vector<std::pair<std::string, std::string>>& kept);

}  // namespace shardscope
