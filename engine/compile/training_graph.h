#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/graph/graph.h"
#include "engine/machine/machine.h"
#include "engine/mesh/mesh.h"
#include "engine/ops/schedule.h"
#include "engine/shard/spec_rules.h"

namespace shardscope {

// The forward graph that a config names, and its mesh; with every fault of the config found on the way: unknown model,
// data kind, optimizer or hyperparameter, faults of the mesh. `graph` and `mesh` are there where they could be made.
struct ForwardGraph {
  std::optional<Graph> graph;
  std::optional<Mesh> mesh;
  std::vector<Error> errors;
  bool batch_known = false;  // the shapes of inputs and activations are those that the file means
};
ForwardGraph build_forward(const RunConfig& config);

// Illegal and unknown specs, as far as they can be judged: without a graph the shapes are not known, and only names of
// axes are; without the batch size specs of parameters are.
std::vector<Error> check_specs(const RunConfig& config, const ForwardGraph& forward);

// The arrays of a graph that may be given specs, and the value of each: inputs, outputs but for metrics, the results of
// forward ops, parameters, their gradients and the optimizer's state (which follows its parameter).
struct SpecTargets {
  std::vector<SpecTarget> targets;
  std::vector<ValueId> values;
};
SpecTargets spec_targets(const Graph& graph);

// The specs of arrays by the run's sharding section, as they are split over the devices of a pipeline's stage
// (mesh_of_a_stage): ZeRO without an axis goes over the first that is not the pipeline's. `mesh` is the whole.
ResolvedSpecs resolve_run_specs(const RunConfig& config, const Mesh& mesh, std::span<const SpecTarget> targets);

// A config without optimizer runs its model forward and learns nothing.
bool trains(const RunConfig& config);

// The learning rate of a config that trains; 0 where its optimizer is not known.
Schedule scheduled_rate(const RunConfig& config);
// What a person should know of a legal config's optimizer, for parameters of this graph.
std::vector<Error> optimizer_notes(const RunConfig& config, const Graph& graph);

// The whole training step: forward, backward, update. Forward alone where the config does not train.
struct TrainingGraph {
  Graph graph;
  std::vector<ValueId> cotangents;         // per forward value; no_id where it has none
  std::vector<int> layers;                 // of each stretch of a pipeline
  std::set<std::string> recomputed_casts;  // names of forward ops (see recomputed_ops.h)
};
// Layers are cut into stretches for this machine. `kept`: names of forward ops that recomputed_casts() leaves out.
TrainingGraph build_training(const RunConfig& config, Graph forward, const Machine& machine,
                             const std::set<std::string>& kept = {});

}  // namespace shardscope
