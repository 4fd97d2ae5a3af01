#include "engine/compile/metric_outputs.h"

#include <algorithm>

#include "engine/plan/expert_load.h"

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
  if (!graph.expert_counts.empty())
    metrics.push_back({std::string(expert_imbalance_metric), {}, MetricSource::expert_imbalance});
  const auto drops = [](const ExpertCounts& counts) { return counts.dropped != no_id; };
  if (std::ranges::any_of(graph.expert_counts, drops)) {
    metrics.push_back({std::string(dropped_tokens_metric), {}, MetricSource::dropped_tokens});
  }
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
