#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// Where a step's number comes from: its own program, an evaluation after it (most steps have none: NaN), the learning
// rate's schedule, or what experts got in the step (expert_load.h).
enum class MetricSource : uint8_t { step, evaluation, schedule, expert_imbalance, dropped_tokens };

// A named scalar of a step: loss, accuracy, val_loss, learning_rate, ...
struct Metric {
  std::string name;
  std::vector<int> values;  // program values, one of each stage: scalar f32, replicated; of step and evaluation
  MetricSource source = MetricSource::step;
};

// What it was in one step.
struct MetricValue {
  std::string name;
  double value = 0;
  bool operator==(const MetricValue&) const = default;
};

// Whether it is of an evaluation ("val_loss"), and whether there was none after this step.
bool is_evaluated(const MetricValue& metric);
bool is_absent(const MetricValue& metric);

// NaN where there is none of this name.
double value_of(std::span<const MetricValue> metrics, std::string_view name);

// The most that a plan may have: a rank's record of a step has a fixed size.
inline constexpr size_t max_metrics = 16;

// The values of a step's metrics in the order of their names; what is beyond the names is not used.
using MetricNumbers = std::array<double, max_metrics>;
std::vector<MetricValue> with_names(std::span<const std::string> names, const MetricNumbers& numbers);

std::vector<std::string> metric_names(std::span<const Metric> metrics);

// A step's metrics are reported as JSON under their own names, beside keys that every step has. Errors: metric_name
// where a name is one of those keys, is empty or repeated; metric_count where there are more than max_metrics.
std::vector<Error> check_metric_names(std::span<const std::string> names);

}  // namespace shardscope
