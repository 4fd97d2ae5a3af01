#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/utilisation.h"

namespace shardscope {

// Between which a measurement may be: a prediction divided by, and times, 1 + the mean error of such predictions.
// Nothing where no measurement backs it.
using PredictedRange = std::optional<std::pair<double, double>>;
PredictedRange predicted_range(double predicted, double mean_error);
PredictedRange seconds_range(const Plan& plan);  // of a step
PredictedRange memory_range(const Plan& plan);   // bytes of the heaviest device
// "no measurements of tpu_v5p as megatron runs it".
std::string unverified_text(const std::string& machine, const std::string& stack);

// exposed_by_axes() of the stage that waits longest.
std::vector<ExposedAxes> most_exposed_by_axes(const Plan& plan);
// "860 ms over tensor, 95.4 ms over data,fsdp".
std::string to_string(const std::vector<ExposedAxes>& exposed);

}  // namespace shardscope
