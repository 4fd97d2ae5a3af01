#pragma once

#include <vector>

#include "engine/base/error.h"
#include "engine/config/run_config.h"
#include "engine/graph/graph.h"
#include "engine/graph/repeated_layers.h"
#include "engine/machine/machine.h"
#include "engine/mesh/mesh.h"
#include "engine/program/pipeline_order.h"

namespace shardscope {

// A mesh as a pipeline cuts it.
struct StagedMesh {
  Mesh whole;
  std::optional<AxisIndex> axis;  // along which its devices are stages; nothing: the run has none, or the mesh not it
  Mesh of_a_stage;                // what arrays may be split over: the mesh with one device along that axis
};
StagedMesh staged_mesh(const PipelineConfig& pipeline, Mesh whole);
Mesh mesh_of_a_stage(const Mesh& whole, std::optional<AxisIndex> axis);
PipelineShape pipeline_shape(const RunConfig& config, const StagedMesh& mesh);

// Faults of a pipeline, each with what would be legal: an unknown axis or schedule, an axis that splits arrays too,
// more chunks than layers, layers that do not add up, and what the schedule cannot do.
std::vector<Error> check_pipeline(const RunConfig& config, const StagedMesh& mesh, const Graph& forward);

// Layers of each chunk, as the config says, or such that the slowest chunk is as fast as can be; of equals the
// first chunks have the most. What is before the first layer belongs to it, what is behind the last to that. Ops are
// priced whole, on one device of the machine.
//
// Example: 4 equal layers and a head that costs as much as 2 of them, on 2 stages: 3 and 1.
std::vector<int> layers_of_chunks(const PipelineConfig& pipeline, const PipelineShape& shape, const Graph& forward,
                                  const Machine& machine);

// Per op whether it is a forward op in no layer, on which a layer depends.
std::vector<bool> ops_before_layers(const Graph& graph);
// What each layer of a forward graph takes, whole, on one device of the machine, with what is before the first and
// behind the last; and the layers of so many contiguous parts, none empty, with the smallest largest sum.
std::vector<double> layer_seconds(const Graph& forward, const Machine& machine);
// The same of the whole network, by a graph that has of equal layers only those that are kept.
std::vector<double> layer_seconds(const Graph& shortened, const std::vector<EqualLayers>& layers,
                                  const Machine& machine);
std::vector<int> balanced_layers(const std::vector<double>& layer_seconds, int parts);

// Per op its virtual stage. A backward op is where its forward op is; an update where its parameter is, which is where
// forward first uses it. Ops without operands are `StagedOps::unassigned`.
std::vector<int> virtual_stages_of_ops(const Graph& graph, const std::vector<int>& layers);
// Per state the virtual stage that stores it.
std::vector<int> virtual_stages_of_states(const Graph& graph, const std::vector<int>& virtual_stage_of_op);

// Per op whether backward does it for the gradients of parameters alone, so that no other op of backward waits for it.
std::vector<bool> weight_gradient_ops(const Graph& graph);

}  // namespace shardscope
