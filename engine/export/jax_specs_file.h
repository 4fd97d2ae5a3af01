#pragma once

#include <string>
#include <string_view>

#include "engine/config/run_config.h"

namespace shardscope {

// The config with the layouts that a JSON object {path: spec} says, as `shardrun export --to specs` and the program of
// `--to jax` with --write-specs write it: parameters, optimizer state ("optimizer/mu/params/Dense_0/kernel"), inputs,
// outputs and activations by their names. What is sharded so already is left alone, so what was exported changes
// nothing; else a parameter is named under `parameters`, an activation under `constraints`, inputs and outputs in `in`
// and `out` (by rules, where they differ), optimizer state by a rule before all others.
//
// Throws Failure with all faults of the text, each at its line: those of read_json(), repeated and unknown paths
// (unknown_array), specs that are illegal on the mesh, and specs that ZeRO would change (overruled). Faults of the
// config are thrown, too.
RunConfig with_specs(const RunConfig& config, std::string_view text, const std::string& file_name);

}  // namespace shardscope
