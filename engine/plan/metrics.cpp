#include "engine/plan/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardscope {

namespace {

// Of the JSON lines and of the messages to clients.
constexpr std::array<std::string_view, 5> step_keys = {"message", "metrics", "ranks", "step", "step_ms"};

}  // namespace

bool is_evaluated(const MetricValue& metric) { return metric.name.starts_with("val_"); }

bool is_absent(const MetricValue& metric) { return is_evaluated(metric) && std::isnan(metric.value); }

double value_of(std::span<const MetricValue> metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &MetricValue::name);
  return found == metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->value;
}

std::vector<MetricValue> with_names(std::span<const std::string> names, const MetricNumbers& numbers) {
  std::vector<MetricValue> values;
  for (size_t i = 0; i < std::min(names.size(), numbers.size()); ++i) values.push_back({names[i], numbers[i]});
  return values;
}

std::vector<std::string> metric_names(std::span<const Metric> metrics) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics) names.push_back(metric.name);
  return names;
}

std::vector<Error> check_metric_names(std::span<const std::string> names) {
  std::vector<Error> errors;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::ranges::find(step_keys, *name) != step_keys.end()) {
      errors.push_back({"metric_name", "the metric '" + *name + "' has the name of a key that every step has", "model",
                        fmt::format("any name but {}", fmt::join(step_keys, ", "))});
    } else if (name->empty() || std::find(names.begin(), name, *name) != name) {
      errors.push_back({"metric_name", "two metrics have the name '" + *name + "', or it is empty", "model",
                        "give each scalar output a name of its own"});
    }
  }
  if (names.size() > max_metrics) {
    errors.push_back(
        {"metric_count",
         fmt::format("the model has {} scalar outputs, and a step can have {} metrics", names.size(), max_metrics),
         "model", "sum or leave out some"});
  }
  return errors;
}

}  // namespace shardscope
