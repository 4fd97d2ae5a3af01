#pragma once

#include <functional>
#include <string>

#include "engine/config/run_config.h"

namespace shardscope {

// The run as a Python program of JAX and Optax that stands alone: mesh, NamedShardings of parameters, optimizer state,
// inputs and constraints, model, data and training loop, with the run file's values. Its losses and the graph's other
// metrics, which leaves out counts of experts, are those of `shardrun train`, from seeds alone. It takes --steps N and
// --write-specs FILE (see engine/export/jax_specs_file.h).
//
// Tells how much of it is done. Throws Failure with all that JAX cannot express, at places in the run file:
// not_exportable (a pipeline, an op without text in JAX, ...); and with every fault of the config.
std::string jax_program(
    const RunConfig& config, const std::function<void(double share)>& tell = [](double) {});

// Its mesh and shardings alone, to paste into a program of one's own; of any model.
std::string jax_specs(
    const RunConfig& config, const std::function<void(double share)>& tell = [](double) {});

}  // namespace shardscope
