#include "engine/cli/training_lines.h"

#include <fmt/args.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/path.h"
#include "engine/cli/stored_arrays.h"
#include "viz/text/metric_text.h"
#include "viz/text/visualize.h"

namespace shardscope {

std::string opening_lines(const Plan& plan) {
  std::string text;
  const std::vector<StoredArray> arrays = stored_arrays(plan);
  for (const auto& [caption, path] : plan.training.captions) {
    auto found = std::find_if(arrays.begin(), arrays.end(),
                              [&path = path](const StoredArray& array) { return array.name == join_path(path); });
    if (found == arrays.end()) continue;
    text += fmt::format("Parameter sharding: {}\n{}", caption,
                        visualize_sharding(found->sharding, plan.mesh, found->shape));
  }
  for (const ParameterPlan& parameter : plan.parameters) {
    if (!parameter.named) continue;
    text += fmt::format("Sharded param ('{}'{}) with {}\n", fmt::join(parameter.path, "', '"),
                        parameter.path.size() == 1 ? "," : "", to_string(parameter.spec));
  }
  if (!plan.trains())
    text += "The run file names no optimizer: each step evaluates the model, and nothing is learned\n";
  return text;
}

namespace {

std::string metrics_text(const std::vector<MetricValue>& metrics) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : metrics)
    texts.push_back(fmt::format("{} = {}", metric_label(name), metric_text(name, value)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Nothing where nothing was evaluated after the step.
std::string evaluation_line(const StepMessage& step) {
  std::vector<MetricValue> evaluated = step.metrics;
  std::erase_if(evaluated, [](const MetricValue& metric) { return !is_evaluated(metric) || is_absent(metric); });
  return evaluated.empty() ? "" : fmt::format("Step {}: {}\n", step.step, metrics_text(evaluated));
}

}  // namespace

std::string metrics_line(const StepMessage& step, const std::string& unit) {
  std::vector<MetricValue> reported = step.metrics;
  std::erase_if(reported, [](const MetricValue& metric) {
    return is_absent(metric) || (metric.name == dropped_tokens_metric && metric.value == 0);
  });
  return fmt::format("{} {}:{}{}\n", unit, step.step, reported.empty() ? "" : " ", metrics_text(reported));
}

std::string ProgressText::after(const StepMessage& step) {
  std::string text;
  const bool is_last = step.step + 1 == steps_;
  if (seen_++ > 0) milliseconds_ += step.step_ms;
  if (step.step % lines_.every == 0 || (is_last && lines_.last)) {
    fmt::dynamic_format_arg_store<fmt::format_context> values;
    values.push_back(fmt::arg("step", step.step));
    values.push_back(fmt::arg("number", step.step + 1));
    for (const auto& [name, value] : step.metrics) {
      values.push_back(fmt::arg(name.c_str(), static_cast<float>(value)));
    }
    text = lines_.step.empty() ? metrics_line(step, lines_.unit) : fmt::vformat(lines_.step, values) + '\n';
  }
  if (!lines_.step.empty()) text += evaluation_line(step);
  if (is_last && seen_ > 1 && !lines_.end.empty()) {
    const double seconds = milliseconds_ / 1000 / static_cast<double>(seen_ - 1);
    text += fmt::format(fmt::runtime(lines_.end), fmt::arg("seconds", seconds)) + '\n';
  }
  return text;
}

}  // namespace shardscope
