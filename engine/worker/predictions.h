#pragma once

#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// One array of a model, for each example: an input, or what the model gives ("predictions").
struct ExampleColumn {
  std::string name;
  int64_t width = 1;          // numbers of an example
  std::vector<float> values;  // example by example
};

// What a trained model makes of its data: inputs by name, then outputs by name.
using Predictions = std::vector<ExampleColumn>;

// Throws Failure (no_examples at data.kind) where the data have no end.
void check_predictions(const TrainingData& data);

// The forward pass, without dropout, of all examples of a run's data in their order, with the parameters that its ranks
// have gathered into `parameter_file` (worker/parameter_file.h). It runs here, as `plan`, the example_plan() of the
// run's: one step more than the training had, and of no rank. Throws Failure.
Predictions predict(const Plan& plan, const std::string& parameter_file);

// One JSON object an example: {"inputs": [-2.0], "targets": [3.26], "predictions": [3.31]}.
std::string json_lines(const Predictions& predictions);

}  // namespace shardscope
