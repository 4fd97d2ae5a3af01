#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/compile/resolved_run.h"
#include "engine/config/run_config.h"
#include "engine/graph/graph.h"
#include "engine/machine/machine.h"
#include "engine/shard/spec_rules.h"

namespace shardscope {

// A resolved config, with what the model asks of its data and with the faults of the whole, and its forward graph,
// where it could be made.
struct ForwardGraph {
  ResolvedRun run;
  std::optional<Graph> graph;
};
ForwardGraph build_forward(const RunConfig& config);
// Of one without faults: the same with what the model's options leave to the machine decided otherwise
// (ModelDefinition::alternatives).
std::vector<ForwardGraph> build_alternatives(const ForwardGraph& forward);

// Illegal and unknown specs, as far as they can be judged: without a graph the shapes are not known, and only names of
// axes are; without the batch size specs of parameters are.
std::vector<Error> check_specs(const ForwardGraph& forward);

// The arrays of a graph that may be given specs, and the value of each: inputs, outputs but for metrics, the results of
// forward ops, parameters, their gradients and the optimizer's state (which follows its parameter).
struct SpecTargets {
  std::vector<SpecTarget> targets;
  std::vector<ValueId> values;
};
SpecTargets spec_targets(const Graph& graph);

// The specs of arrays by the run's sharding section, as they are split over the devices of a pipeline's stage: ZeRO
// without an axis goes over the first that is not the pipeline's.
ResolvedSpecs resolve_run_specs(ShardingConfig sharding, const StagedMesh& mesh, std::span<const SpecTarget> targets);

// What a person should know of a legal config's optimizer, for parameters of this graph.
std::vector<Error> optimizer_notes(const ResolvedRun& run, const Graph& graph);

// The whole training step: forward, backward, update. Forward alone where the config does not train.
struct TrainingGraph {
  Graph graph;
  SpecTargets arrays;                      // of the graph
  std::vector<ValueId> cotangents;         // per forward value; no_id where it has none
  std::vector<int> layers;                 // of each chunk of a pipeline
  std::set<std::string> recomputed_casts;  // names of forward ops (see recomputed_ops.h)
};
// Layers are cut into chunks for this machine. `kept`: names of forward ops that recomputed_casts() leaves out.
TrainingGraph build_training(const ResolvedRun& run, Graph forward, const Machine& machine,
                             const std::set<std::string>& kept = {});

}  // namespace shardscope
