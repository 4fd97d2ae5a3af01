#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/config/run_config.h"

namespace shardscope {

// `--set PATH=VALUE`: changes one value of a config by its path in the run file. A mesh axis may be called by its
// name: "mesh.data=2" is "mesh.axes[0].size=2". Text is written bare or quoted; all else is JSON:
//   model.num_layers=3   optimizer.learning_rate=3e-4   sharding.mode=as_written   sharding.in=["data",null]
//   sharding.parameters.params.Embed_0.embedding=["data",null]   mesh.devices=[0,2,1,3]   mesh.axes=[{...}, ...]
//   sharding.rules[0].spec=["model"]   sharding.rules[1].axes.mlp=model   sharding.constraints.**/gelu=["data"]
//   schedule.rematerialise=["attention","**/ln1/**"]   lint.off.bubble=the batch is fixed
// A value keeps the type it has: 2.5 for an integer is an error, 1 for a real number becomes 1.0.
//
// `known_paths` are legal whether or not the config names them: hyperparameters of its model, data source and optimizer
// ("model.dropout_rate"), parameters of its model ("sharding.parameters.params.Dense_0.kernel").
//
// Without a known path may be added: rules of lint to turn off, constraints, patterns of parameters (both before the
// others, so that they decide), the rule behind the last (sharding.rules[N]={...}), a rule's further keys,
// sharding.memory_limit_mib and optimizer.name. "optimizer=null" and "sharding.memory_limit_mib=null" take these away.
//
// All are applied in their order (a later one wins) before the result is checked as a whole. Throws Failure with the
// faults of all of them, each at "--set PATH" and, where it concerns another value, that path. Codes: no_value,
// unknown_path (the hint lists near ones), wrong_type, and those of parse_run_config().
RunConfig apply_overrides(const RunConfig& config, const std::vector<std::string>& assignments,
                          const std::vector<std::string>& known_paths = {});

// One of them, in place; on Failure `config` is as it was.
void apply_override(RunConfig& config, std::string_view assignment, const std::vector<std::string>& known_paths = {});

// Every path that --set accepts on this config without known_paths, in file order.
std::vector<std::string> config_paths(const RunConfig& config);

}  // namespace shardscope
