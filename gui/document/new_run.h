#pragma once

#include <string>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// A run file to begin with: a model at its defaults, data that it can take, an optimizer (empty: forward alone), a mesh
// of one axis "data" that splits the inputs, and what the model gives beside metrics, logits say. Legal wherever the
// number of devices divides the batch.
RunConfig new_run(const std::string& model, const std::string& optimizer, int64_t devices);

// What a run file may name.
std::vector<std::string> model_names();
std::vector<std::string> optimizer_names();

}  // namespace shardscope
