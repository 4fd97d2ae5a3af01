#include "engine/compile/written_training.h"

#include "engine/compile/token_split.h"
#include "engine/graph/casts.h"
#include "engine/shard/moved_again.h"

namespace shardscope {

std::vector<bool> given_up(const ZeroConfig& zero, const Graph& graph) {
  if (zero.stage != 3) return {};
  std::vector<bool> values = values_of_states(graph);
  for (const State& state : graph.states) {
    if (!state.is_parameter()) values[state.before] = false;
  }
  return values;
}

WrittenTraining write_training(const ResolvedRun& run, const MakeTraining& make, Passes& pass, std::stop_token stop) {
  const ShardingConfig& sharding = run.config->sharding;
  const Mesh& mesh = run.mesh->of_a_stage;
  std::set<std::string> kept;
  while (true) {
    WrittenTraining made;
    made.training = pass("differentiate", [&] { return make(kept); });
    const TrainingGraph& training = *made.training;
    made.resolved = pass("resolve", [&] {
      const SpecTargets& arrays = training.arrays;
      ResolvedSpecs specs = resolve_run_specs(sharding, *run.mesh, arrays.targets);
      pin_tokens(run.split, arrays, training.graph, specs);
      return pin_specs(arrays, std::move(specs), training.graph, mesh, training.cotangents);
    });
    made.placed = pass("propagate", [&] {
      return place_as_written(made.resolved.pins, training.graph, mesh, sharding.keep, training.cotangents, stop);
    });
    if (training.recomputed_casts.empty() || stop.stop_requested()) return made;
    const size_t before = kept.size();
    for (OpId op : moved_again(training.graph, mesh, made.placed.placements, given_up(sharding.zero, training.graph))) {
      const std::string& name = training.graph.ops[op].name;
      if (training.recomputed_casts.contains(name)) kept.insert(name);
    }
    if (kept.size() == before) return made;
  }
}

}  // namespace shardscope
