#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "engine/base/cancelled.h"
#include "engine/compile/plan_request.h"
#include "engine/config/run_config.h"
#include "engine/plan/plan.h"
#include "models/registry.h"

namespace shardscope {

// Joins model, optimizer, sharding and planning. Pure and deterministic: the window, the command line and every rank
// call it and get the same Plan. Throws Failure with all errors found in the config (unknown model or
// hyperparameter, unknown parameter, illegal specs, ...); throws Cancelled when `stop` is requested.
Plan compile(const PlanRequest& request, std::stop_token stop = {});

// All errors of the config that compile() would throw, without planning. Empty when it is legal.
std::vector<Error> validate(const RunConfig& config);
// What a person should know of a legal config before it is planned: rules that match nothing or do not divide, and
// where the model is not what its original's program would compute. The plan has these warnings too. Empty for one that
// is not legal.
std::vector<Error> config_warnings(const RunConfig& config);

// Path, shape and dtype of every parameter of the configured model as a plan stores it, in model order. Throws Failure
// like compile().
struct ParameterInfo {
  std::vector<std::string> path;
  TensorType type;
  bool operator==(const ParameterInfo&) const = default;
};
std::vector<ParameterInfo> list_parameters(const RunConfig& config);

// The configured model's description for others, and the folder that it was read from. Throws Failure (no_description)
// of a model that has none.
ModelDefinition::Description model_description(const RunConfig& config);

}  // namespace shardscope
