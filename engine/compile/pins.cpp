#include "engine/compile/pins.h"

#include <fmt/format.h>

#include "engine/shard/propagation.h"

namespace shardscope {

Sharding without_unit_axes(const Sharding& sharding, const Mesh& mesh) {
  Sharding result = Sharding::replicated(sharding.rank);
  for (int d = 0; d < sharding.rank; ++d) {
    for (AxisIndex axis : sharding.dims[d]) {
      if (mesh.axis_size(axis) > 1) result.dims[d].push_back(axis);
    }
  }
  return result;
}

ResolvedPins pin_specs(const SpecTargets& arrays, ResolvedSpecs resolved, const Graph& graph, const Mesh& mesh,
                       const std::vector<ValueId>& cotangents) {
  if (!resolved.errors.empty()) throw Failure(std::move(resolved.errors));
  ResolvedPins result;
  result.warnings = std::move(resolved.warnings);
  result.spec_lines = std::move(resolved.lines);
  result.states.resize(graph.states.size());
  Pins& pins = result.pins;
  pins.layouts.resize(graph.values.size());
  pins.origins.resize(graph.values.size());
  for (size_t t = 0; t < arrays.values.size(); ++t) {
    ResolvedSpec& spec = resolved.specs[t];
    const ValueId value = arrays.values[t];
    if (spec.pinned) {
      const int rank = static_cast<int>(graph.type(value).shape.size());
      pins.layouts[value] = without_unit_axes(to_sharding(spec.spec, mesh, rank), mesh);
      pins.origins[value] = spec.place.empty() ? Origin{Origin::Kind::replicated, spec.origin}
                                               : Origin{Origin::Kind::user, "you set it in " + spec.origin};
    }
    if (graph.values[value].kind == ValueKind::state) {
      const State& state = graph.states[graph.values[value].state];
      pins.layouts[state.initial] = pins.layouts[value];
      if (state.after != no_id) pins.layouts[state.after] = pins.layouts[value];
      result.states[graph.values[value].state] = std::move(spec);
    } else if (graph.values[value].kind == ValueKind::result && value < static_cast<ValueId>(cotangents.size()) &&
               cotangents[value] != no_id) {
      std::optional<Sharding>& cotangent = pins.layouts[cotangents[value]];
      if (!cotangent) cotangent = pins.layouts[value];
    }
  }
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].again_of != no_id) pins.layouts[v] = pins.layouts[graph.values[v].again_of];
  }
  return result;
}

PlacedAsWritten place_as_written(const Pins& pins, const Graph& graph, const Mesh& mesh,
                                 const std::vector<ValueId>& cotangents, std::stop_token stop) {
  PlacedAsWritten placed{{}, pins.origins};
  const auto explain = [&](ValueId value, int dim, AxisIndex axis, OpId op) {
    Origin& origin = placed.origins[value];
    origin.kind = Origin::Kind::propagated;
    origin.text += fmt::format("{}dimension {} took {} through {}", origin.text.empty() ? "" : "; ", dim,
                               mesh.axes()[axis].name, graph.ops[op].name);
  };
  const std::vector<Sharding> propagated = propagate(graph, mesh, pins.layouts, explain);
  placed.placements =
      written_placements(graph, mesh, written_layouts(graph, mesh, pins.layouts, propagated, cotangents), stop);
  return placed;
}

}  // namespace shardscope
