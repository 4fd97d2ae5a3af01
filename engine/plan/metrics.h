#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// A named scalar that a step computes: loss, accuracy, ...
struct Metric {
  std::string name;
  int value = -1;  // program value: scalar f32, replicated
};

// What it was in one step.
struct MetricValue {
  std::string name;
  double value = 0;
  bool operator==(const MetricValue&) const = default;
};

// NaN where there is none of this name.
double value_of(std::span<const MetricValue> metrics, std::string_view name);

// The most that a plan may have: a rank's record of a step has a fixed size.
inline constexpr size_t max_metrics = 16;

// The values of a step's metrics in the order of their names; what is beyond the names is not used.
using MetricNumbers = std::array<double, max_metrics>;
std::vector<MetricValue> with_names(std::span<const std::string> names, const MetricNumbers& numbers);

std::vector<std::string> metric_names(std::span<const Metric> metrics);

// A step's metrics are told as JSON under their own names, beside keys that every step has. Errors: metric_name where
// a name is one of those keys, is empty or repeated; metric_count where there are more than max_metrics.
std::vector<Error> check_metric_names(std::span<const std::string> names);

}  // namespace shardscope
