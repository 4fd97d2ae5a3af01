#pragma once

#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/machine/machine.h"

namespace shardscope {

// One array of a model, for each example: an input, or what the model gives ("predictions").
struct ExampleColumn {
  std::string name;
  int64_t width = 1;          // numbers of an example
  std::vector<float> values;  // example by example
};

// What a trained model makes of its data: inputs by name, then outputs by name.
using Predictions = std::vector<ExampleColumn>;

// Throws Failure (no_examples at data.kind) where the run's data have no end.
void check_predictions(const RunConfig& config);

// The forward pass, without dropout, of all examples of a run's data in their order, with the parameters that its ranks
// have gathered into `parameter_file` (worker/parameter_file.h). It runs here, as the plan of the same run file on one
// device and without an optimizer: one step more than the training had, and of no rank. Throws Failure.
Predictions predict(const RunConfig& config, const Machine& machine, const std::string& parameter_file);

// One JSON object an example: {"inputs": [-2.0], "targets": [3.26], "predictions": [3.31]}.
std::string json_lines(const Predictions& predictions);

}  // namespace shardscope
