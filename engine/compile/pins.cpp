#include "engine/compile/pins.h"

#include <fmt/format.h>

#include <map>

#include "engine/shard/propagation.h"

namespace shardscope {

namespace {

// Axes of size 1 split nothing; without them equal layouts are equal values.
Sharding without_unit_axes(const Sharding& sharding, const Mesh& mesh) {
  Sharding result = Sharding::replicated(sharding.rank);
  for (int d = 0; d < sharding.rank; ++d) {
    for (AxisIndex axis : sharding.dims[d]) {
      if (mesh.axis_size(axis) > 1) result.dims[d].push_back(axis);
    }
  }
  return result;
}

}  // namespace

Pins pin_specs(const RunConfig& config, const Graph& graph, const Mesh& mesh, const std::vector<ValueId>& cotangents) {
  Pins pins;
  pins.layouts.resize(graph.values.size());
  pins.origins.resize(graph.values.size());
  auto pin = [&](ValueId value, const PartitionSpec& spec) {
    int rank = static_cast<int>(graph.type(value).shape.size());
    pins.layouts[value] = without_unit_axes(to_sharding(spec, mesh, rank), mesh);
  };
  for (const auto& [name, value] : graph.inputs) {
    pin(value, config.sharding.in);
    pins.origins[value] = {Origin::Kind::user, "you set it in sharding.in"};
  }
  ValueId logits = graph.outputs.at("logits");
  pin(logits, config.sharding.out);
  pins.origins[logits] = {Origin::Kind::user, "you set it in sharding.out"};
  if (cotangents[logits] != no_id) pins.layouts[cotangents[logits]] = pins.layouts[logits];
  std::map<std::vector<std::string>, const PartitionSpec*> specs;
  for (const ParameterSpec& spec : config.sharding.parameters) specs[spec.path] = &spec.spec;
  for (const Parameter& parameter : graph.parameters) {
    auto found = specs.find(parameter.path);
    bool named = found != specs.end();
    pin(parameter.value, named ? *found->second : PartitionSpec{});
    pins.origins[parameter.value] =
        named ? Origin{Origin::Kind::user, "you set it"}
              : Origin{Origin::Kind::replicated, "not named in sharding.parameters: replicated"};
    for (ValueId state : parameter.state) pins.layouts[state] = pins.layouts[parameter.value];
  }
  return pins;
}

Pins propagate_pins(const Pins& pins, const Graph& graph, const Mesh& mesh, const std::vector<FactorRule>& rules,
                    const std::vector<ValueId>& cotangents) {
  Pins written = pins;
  const auto explain = [&](ValueId value, int dim, AxisIndex axis, OpId op) {
    Origin& origin = written.origins[value];
    origin.kind = Origin::Kind::propagated;
    origin.text += fmt::format("{}dimension {} took {} through {}", origin.text.empty() ? "" : "; ", dim,
                               mesh.axes()[axis].name, graph.ops[op].name);
  };
  const std::vector<Sharding> layouts = propagate(graph, mesh, rules, pins.layouts, explain);
  for (size_t v = 0; v < layouts.size(); ++v) {
    const Value& value = graph.values[v];
    if (written.layouts[v] || value.type.shape.empty() || value.producer == no_id) continue;
    if (graph.ops[value.producer].phase == Phase::forward) written.layouts[v] = layouts[v];
  }
  std::vector<bool> gradient(graph.values.size());
  for (const Parameter& parameter : graph.parameters) {
    if (parameter.gradient != no_id) gradient[parameter.gradient] = true;
  }
  for (size_t v = 0; v < cotangents.size(); ++v) {
    ValueId cotangent = cotangents[v];
    if (cotangent != no_id && !written.layouts[cotangent] && !gradient[cotangent]) {
      written.layouts[cotangent] = written.layouts[v];
    }
  }
  return written;
}

}  // namespace shardscope
