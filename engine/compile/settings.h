#pragma once

#include <string>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// The config after `--set PATH=VALUE ...`, as apply_overrides() says, with what the registries know besides: every
// hyperparameter of the model, data kind and optimizer may be set, and the spec of every parameter of the model. Where
// another model, kind or optimizer is named, the file's hyperparameters that it does not have fall away:
//   {"kind": "numpy_batches", "dataset_size": 8192, "seed": 1}, data.kind=zeros -> {"kind": "zeros", "seed": 1}
// Throws Failure like apply_overrides().
RunConfig with_settings(const RunConfig& config, const std::vector<std::string>& assignments);

// The hyperparameters that the model, data kind or optimizer of the config has (`section` is "model", "data" or
// "optimizer"); none where it is not known.
std::vector<OptionDefinition> option_definitions(const RunConfig& config, const std::string& section);
// The config with all of them but the open ones: at their defaults where it does not give them.
RunConfig with_default_options(RunConfig config);
// Those to offer to a person: without the arguments of other schedules than the optimizer's, which say nothing, unless
// the config has them.
std::vector<OptionDefinition> offered_options(const RunConfig& config, const std::string& section);

}  // namespace shardscope
