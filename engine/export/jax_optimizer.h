#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// A run's optimizer in Optax: lines that end with `optimizer = optax...`, for a program that knows name_of(keys).
struct JaxOptimizer {
  std::string source;
  // What it keeps of each parameter: the name in Optax's state, and in the run file.
  std::vector<std::pair<std::string, std::string>> kept;
  bool scheduled = false;  // learning_rate(count) is a function
};
JaxOptimizer jax_optimizer(const NamedOptions& optimizer);

}  // namespace shardscope
