#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/lint/lint.h"
#include "engine/plan/prediction.h"
#include "gui/planning/stage_quantities.h"

namespace shardscope {

// How many times in a training step the devices exchange parts of arrays, or pass them from stage to stage.
int64_t exchanges(const Plan& plan);

// What views look up in a plan, made in the background with it: nothing that is shown needs a walk over all steps.
struct PlanIndex {
  PlanIndex() = default;
  explicit PlanIndex(const Plan& plan);

  // Steps of the main sequences that move data between devices, also from stage to stage; in program order, by stage.
  std::vector<InstructionId> collectives;
  std::vector<int> task_runs;  // how often a task runs in a training step: of a microbatch's, once for each
  int64_t exchanges = 0;       // shardscope::exchanges of the plan
  std::unordered_map<ValueId, std::vector<int>> moved_by;   // those that have a graph value in or out, ascending
  std::unordered_map<ValueId, std::vector<int>> stages_of;  // of a pipeline, that make a graph value; ascending
  std::unordered_map<ValueId, int> layout_of;               // of a graph value in Plan::layouts
  std::unordered_map<std::string, int> layout_named;
  std::unordered_map<std::string, int> parameter_at;  // by joined path
  std::vector<Finding> findings;                      // certain_findings() of the plan
  std::vector<StageQuantities> quantities;            // of each stage
  Utilisation utilisation;
  std::vector<ExposedAxes> exposed;  // most_exposed_by_axes() of the plan

  int runs(InstructionId step) const { return task_runs[static_cast<size_t>(step.task)]; }
};

// The parameters of a model, and where each is.
struct ModelIndex {
  ModelIndex() = default;
  explicit ModelIndex(std::vector<ParameterInfo> parameters);

  std::vector<ParameterInfo> parameters;
  std::unordered_map<std::string, int> parameter_at;  // by joined path
  int64_t elements = 0, bytes = 0;
};

}  // namespace shardscope
