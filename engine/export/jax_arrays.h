#pragma once

#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/data/training_data.h"
#include "engine/plan/stages.h"
#include "engine/shard/spec_rules.h"

namespace shardscope {

// Every array of a run that may be given a spec, and what the run file's table says of it: what a program of JAX needs
// to know, without a plan.
struct JaxArray {
  // "params/Dense_0/kernel", "optimizer/mu/params/Dense_0/kernel", "tokens"; of a gradient
  // "gradients/params/Dense_0/kernel".
  std::string name;
  std::string value_name;  // of an output, as the op that gives it is called: "Dense_0/add"; of others the same
  SpecTarget target;
  ResolvedSpec resolved;
};

struct JaxArrays {
  StagedMesh mesh;
  TrainingData data;
  OptionList model_options;  // all that the model has
  std::vector<JaxArray> arrays;

  std::vector<const JaxArray*> of(SpecKind kind) const;
  // The specs anew, by a config that differs from theirs in its sharding section. Throws Failure with its faults.
  void resolve(const RunConfig& config);
};

// Throws Failure with every fault of the config.
JaxArrays jax_arrays(const RunConfig& config);

}  // namespace shardscope
