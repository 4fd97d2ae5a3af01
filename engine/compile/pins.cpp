#include "engine/compile/pins.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/graph/casts.h"
#include "engine/shard/layout_choice.h"
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

namespace {

// What is pinned in one type is pinned in the other. `narrowed`: states in the type of products; else all but these.
void pin_through_casts(const Graph& graph, bool narrowed, Pins& pins) {
  const std::vector<bool> of_states = values_of_states(graph);
  const auto follow = [&](ValueId value, ValueId pinned) {
    if (pins.layouts[value] || !pins.layouts[pinned]) return;
    pins.copy(value, pinned);
    pins.origins[value] = {Origin::Kind::propagated, "as " + graph.values[pinned].name};
  };
  const auto follow_through = [&](const Op& op) {
    if ((!narrows(graph, op) && !widens(graph, op)) || of_states[op.outputs[0]] != narrowed) return;
    follow(op.inputs[0], op.outputs[0]);
    follow(op.outputs[0], op.inputs[0]);
  };
  std::ranges::for_each(graph.ops, follow_through);
  std::ranges::for_each(graph.ops.rbegin(), graph.ops.rend(), follow_through);
}

// Of what nothing in the file speaks, where a spec would stand.
std::string place_to_be(const SpecTarget& target, const Graph& graph, ValueId value) {
  switch (target.kind) {
    case SpecKind::input: return "sharding.in";
    case SpecKind::output: return "sharding.out";
    default: break;
  }
  return parameter_place({graph.states[graph.values[value].state].path, {}});
}

// Per target. A state that follows a parameter is decided where that one is.
std::vector<std::string> places_of(const SpecTargets& arrays, const std::vector<ResolvedSpec>& specs,
                                   const Graph& graph) {
  std::vector<std::string> places(arrays.values.size());
  for (size_t t = 0; t < places.size(); ++t) {
    const SpecTarget& target = arrays.targets[t];
    const ResolvedSpec& spec = specs[t];
    if (!spec.pinned) continue;
    if (spec.origin.starts_with(zero_place)) places[t] = zero_place;
    else if (!spec.place.empty()) places[t] = spec.place;
    else if (target.follows >= 0) places[t] = places[static_cast<size_t>(target.follows)];
    else places[t] = place_to_be(target, graph, arrays.values[t]);
  }
  return places;
}

// What several stages give to a gradient, each of which adds up over the microbatches; empty where one stage does.
std::vector<ValueId> gradients_of_stages(const Graph& graph, ValueId gradient) {
  const Op& sum = graph.ops[graph.values[gradient].producer];
  const auto adds_up = [&](ValueId value) {
    const OpId producer = graph.values[value].producer;
    return producer != no_id && graph.ops[producer].definition->accumulates();
  };
  const bool is_of_stages = sum.phase == Phase::update && std::ranges::all_of(sum.inputs, adds_up);
  return is_of_stages ? sum.inputs : std::vector<ValueId>();
}

}  // namespace

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
  pins.places.resize(graph.values.size());
  const std::vector<std::string> places = places_of(arrays, resolved.specs, graph);
  for (size_t t = 0; t < arrays.values.size(); ++t) {
    ResolvedSpec& spec = resolved.specs[t];
    const ValueId value = arrays.values[t];
    if (spec.pinned) {
      const int rank = static_cast<int>(graph.type(value).shape.size());
      pins.layouts[value] = without_unit_axes(to_sharding(spec.spec, mesh, rank), mesh);
      pins.origins[value] = spec.place.empty() ? Origin{Origin::Kind::replicated, spec.origin}
                                               : Origin{Origin::Kind::user, "you set it in " + spec.origin};
      pins.places[value] = places[t];
    }
    if (graph.values[value].kind == ValueKind::state) {
      const State& state = graph.states[graph.values[value].state];
      for (const ValueId same : {state.initial, state.after}) {
        if (same != no_id) pins.copy(same, value);
      }
      result.states[graph.values[value].state] = std::move(spec);
    } else if (graph.values[value].kind == ValueKind::result && value < static_cast<ValueId>(cotangents.size()) &&
               cotangents[value] != no_id) {
      if (!pins.layouts[cotangents[value]]) pins.copy(cotangents[value], value);
    }
    if (arrays.targets[t].kind != SpecKind::gradient) continue;
    for (const ValueId of_stage : gradients_of_stages(graph, value)) pins.copy(of_stage, value);
  }
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const ValueId of = graph.values[v].again_of;
    if (of != no_id) pins.copy(static_cast<ValueId>(v), of);
  }
  pin_through_casts(graph, /*narrowed=*/false, pins);
  return result;
}

PlacedAsWritten place_as_written(Pins pins, const Graph& graph, const Mesh& mesh, const std::vector<std::string>& keep,
                                 const std::vector<ValueId>& cotangents, std::stop_token stop) {
  pin_through_casts(graph, /*narrowed=*/true, pins);
  PlacedAsWritten placed{{}, pins.origins};
  const auto explain = [&](ValueId value, int dim, AxisIndex axis, OpId op) {
    Origin& origin = placed.origins[value];
    origin.kind = Origin::Kind::propagated;
    origin.text += fmt::format("{}dimension {} took {} through {}", origin.text.empty() ? "" : "; ", dim,
                               mesh.axes()[axis].name, graph.ops[op].name);
  };
  const std::vector<Sharding> propagated = propagate(graph, mesh, pins.layouts, explain);
  WrittenLayouts layouts = written_layouts(graph, mesh, pins.layouts, propagated, cotangents);
  for (const std::string& axis : keep) {
    if (const std::optional<AxisIndex> index = mesh.find_axis(axis))
      layouts.kept_axes = static_cast<uint8_t>(layouts.kept_axes | 1u << *index);
  }
  layouts.bucketed = bucketed_values(graph, LayoutProblem::small_bytes);
  placed.placements = written_placements(graph, mesh, layouts, stop);
  return placed;
}

}  // namespace shardscope
