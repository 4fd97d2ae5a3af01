#include "engine/export/jax_arrays.h"

#include "engine/compile/training_graph.h"
#include "engine/machine/host_machine.h"

namespace shardscope {

std::vector<const JaxArray*> JaxArrays::of(SpecKind kind) const {
  std::vector<const JaxArray*> found;
  for (const JaxArray& array : arrays) {
    if (array.target.kind == kind) found.push_back(&array);
  }
  return found;
}

void JaxArrays::resolve(const RunConfig& config) {
  std::vector<SpecTarget> targets;
  for (const JaxArray& array : arrays) targets.push_back(array.target);
  ResolvedSpecs resolved = resolve_run_specs(config.sharding, mesh, targets);
  if (!resolved.errors.empty()) throw Failure(std::move(resolved.errors));
  for (size_t i = 0; i < arrays.size(); ++i) arrays[i].resolved = std::move(resolved.specs[i]);
}

JaxArrays jax_arrays(const RunConfig& config) {
  ForwardGraph forward = build_forward(config);
  if (!forward.run.errors.empty()) throw Failure(std::move(forward.run.errors));
  JaxArrays result{*forward.run.mesh, forward.run.data, forward.run.model_options, {}};
  const std::vector<int> layers = layers_of_chunks(forward, reference_host());
  const TrainingGraph training = build_training(forward.run, std::move(*forward.graph), layers);
  SpecTargets targets = spec_targets(training.graph);
  for (size_t i = 0; i < targets.targets.size(); ++i) {
    SpecTarget& target = targets.targets[i];
    std::string name = target.kind == SpecKind::gradient ? "gradients/" + target.name : target.name;
    std::string value_name = target.kind == SpecKind::output ? training.graph.values[targets.values[i]].name : name;
    result.arrays.push_back({std::move(name), std::move(value_name), std::move(target), {}});
  }
  result.resolve(config);
  return result;
}

}  // namespace shardscope
