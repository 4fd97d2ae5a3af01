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
  std::optional<Graph> of_one_block;  // the same with its tokens in one block, where they are in several
};
ForwardGraph build_forward(const RunConfig& config);
// Layers of each chunk of its pipeline (plan/stages.h), cut for this machine. Tokens count in one block: so the model
// and the rows of a microbatch decide, not how these are split.
std::vector<int> layers_of_chunks(const ForwardGraph& forward, const Machine& machine);
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
  std::set<std::string> recomputed_casts;  // names of forward ops (see recomputed_ops.h)
};
// `layers`: of each chunk of a pipeline. `kept`: names of forward ops that recomputed_casts() leaves out.
TrainingGraph build_training(const ResolvedRun& run, Graph forward, const std::vector<int>& layers,
                             const std::set<std::string>& kept = {});

}  // namespace shardscope
