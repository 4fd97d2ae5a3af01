#include "engine/compile/metric_outputs.h"

#include <algorithm>

namespace shardscope {

std::vector<std::string> metric_outputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, value] : graph.outputs) {
    if (graph.type(value) == TensorType{{}, DType::f32}) names.push_back(name);
  }
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "loss"; });
  return names;
}

std::vector<Metric> step_metrics(const ResolvedRun& run, const Graph& graph) {
  const std::vector<std::string> names = metric_outputs(graph);
  std::vector<Metric> metrics;
  for (const std::string& name : names) metrics.push_back({name, {}});
  if (!run.config->trains()) return metrics;
  if (run.data.evaluation.every > 0) {
    for (const std::string& name : names) metrics.push_back({"val_" + name, {}, MetricSource::evaluation});
  }
  if (run.learning_rate.kind != Schedule::Kind::constant) {
    metrics.push_back({"learning_rate", {}, MetricSource::schedule});
  }
  return metrics;
}

}  // namespace shardscope
