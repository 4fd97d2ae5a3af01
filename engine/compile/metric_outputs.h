#pragma once

#include <string>
#include <vector>

#include "engine/compile/resolved_run.h"
#include "engine/graph/graph.h"
#include "engine/plan/metrics.h"

namespace shardscope {

// The model's metrics: its outputs that are f32 scalars, "loss" first, then by name.
std::vector<std::string> metric_outputs(const Graph& graph);

// All that a step tells, without program values: these, what they were on data kept back ("val_loss") where the run
// evaluates, expert_imbalance and dropped_tokens (engine/plan/expert_load.h) where the model has experts and some may
// be dropped, and the learning rate where a schedule changes it.
std::vector<Metric> step_metrics(const ResolvedRun& run, const Graph& graph);

}  // namespace shardscope
