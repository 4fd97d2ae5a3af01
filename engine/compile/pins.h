#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "engine/compile/training_graph.h"
#include "engine/graph/op_definition.h"
#include "engine/plan/plan.h"
#include "engine/shard/spec_rules.h"
#include "engine/shard/written_placement.h"

namespace shardscope {

// Axes of size 1 split nothing; without them equal layouts are equal values.
Sharding without_unit_axes(const Sharding& sharding, const Mesh& mesh);

// Where values lie when they are defined, per graph value where somebody says so, and who says it.
struct Pins {
  std::vector<std::optional<Sharding>> layouts;
  std::vector<Origin> origins;      // per graph value; the text is empty where nobody says
  std::vector<std::string> places;  // per graph value: where the run file says it, or would (see Plan::pins)

  // Pins a value as another one is, or not at all where that is not.
  void copy(ValueId value, ValueId pinned) {
    layouts[value] = layouts[pinned];
    places[value] = places[pinned];
  }
};

// What the run file's table of rules says of a graph (see engine/shard/spec_rules.h).
struct ResolvedPins {
  // Of a value and of its cotangent alike (where values share one, the first of the targets that is pinned); of a state
  // before, after and at first; of an activation or gradient in every type that it is cast to or from.
  Pins pins;
  std::vector<ResolvedSpec> states;  // per state
  std::vector<SpecLineUse> spec_lines;
  std::vector<Error> warnings;
};
// `resolved` of the graph's spec_targets(); throws Failure with its errors. `mesh` of a stage.
ResolvedPins pin_specs(const SpecTargets& arrays, ResolvedSpecs resolved, const Graph& graph, const Mesh& mesh,
                       const std::vector<ValueId>& cotangents);

// The placements that the specs and propagation give by rule alone, and for each value where its layout comes from: the
// pins' origins, and the edges that carried an axis to it. A state in the type of products is pinned as the state.
struct PlacedAsWritten {
  WrittenPlacements placements;
  std::vector<Origin> origins;
};
// `keep`: names of mesh axes (ShardingConfig::keep).
PlacedAsWritten place_as_written(Pins pins, const Graph& graph, const Mesh& mesh, const std::vector<std::string>& keep,
                                 const std::vector<ValueId>& cotangents, std::stop_token stop);

}  // namespace shardscope
