#include "engine/plan/stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/base/plural.h"
#include "engine/graph/casts.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/schedules/schedule.h"
#include "engine/shard/work_prices.h"

namespace shardscope {

namespace {

int layer_count(const Graph& graph) {
  int count = 0;
  for (const Op& op : graph.ops) count = std::max(count, op.place.layer + 1);
  return count;
}

double op_seconds(const Graph& graph, const Op& op, const WorkPrices& prices) {
  std::vector<TensorType> operands, results;
  for (ValueId input : op.inputs) operands.push_back(graph.type(input));
  for (ValueId output : op.outputs) results.push_back(graph.type(output));
  return prices.compute(op, operands, results);
}

bool names_axis(const PartitionSpec& spec, const std::string& axis) {
  return std::ranges::any_of(spec.dims, [&](const auto& axes) { return std::ranges::find(axes, axis) != axes.end(); });
}

// Places in the sharding section that would split arrays over the axis.
std::vector<std::string> places_of_axis(const ShardingConfig& sharding, const std::string& axis) {
  std::vector<std::string> places;
  const auto look = [&](const PartitionSpec& spec, const std::string& place) {
    if (names_axis(spec, axis)) places.push_back(place);
  };
  look(sharding.in, "sharding.in");
  look(sharding.out, "sharding.out");
  for (const ParameterSpec& parameter : sharding.parameters) look(parameter.spec, parameter_place(parameter));
  for (const Constraint& constraint : sharding.constraints) look(constraint.spec, constraint_place(constraint));
  for (size_t i = 0; i < sharding.rules.size(); ++i) {
    PartitionSpec named;
    const auto collect = [&](const auto& placement) {
      using Kind = std::decay_t<decltype(placement)>;
      if constexpr (std::is_same_v<Kind, PartitionSpec>) named = placement;
      if constexpr (std::is_same_v<Kind, LargestDimension>) named.dims = {placement.axes};
      if constexpr (std::is_same_v<Kind, LogicalAxes>) {
        for (const auto& [name, axes] : placement.axes) named.dims.push_back(axes);
      }
    };
    std::visit(collect, sharding.rules[i].placement);
    look(named, rule_place(i));
  }
  if (sharding.zero.stage > 0 && std::ranges::count(sharding.zero.axes, axis) > 0)
    places.push_back("sharding.zero.axis");
  return places;
}

}  // namespace

StagedMesh staged_mesh(const PipelineConfig& pipeline, Mesh whole) {
  const std::optional<AxisIndex> axis = pipeline.axis.empty() ? std::nullopt : whole.find_axis(pipeline.axis);
  Mesh of_a_stage = mesh_of_a_stage(whole, axis);
  return {std::move(whole), axis, std::move(of_a_stage)};
}

Mesh mesh_of_a_stage(const Mesh& whole, std::optional<AxisIndex> axis) {
  if (!axis) return whole;
  std::vector<MeshAxis> axes = whole.axes();
  axes[*axis].size = 1;
  return Mesh(std::move(axes));
}

PipelineShape pipeline_shape(const RunConfig& config, const StagedMesh& mesh) {
  PipelineShape shape;
  shape.microbatches = static_cast<int>(config.schedule.microbatches);
  if (!mesh.axis || mesh.whole.axis_size(*mesh.axis) == 1) return shape;
  shape.stages = static_cast<int>(mesh.whole.axis_size(*mesh.axis));
  shape.chunks = static_cast<int>(config.pipeline.chunks);
  return shape;
}

std::vector<Error> check_pipeline(const RunConfig& config, const StagedMesh& mesh, const Graph& forward) {
  const PipelineConfig& pipeline = config.pipeline;
  if (pipeline.axis.empty()) return {};
  std::vector<Error> errors;
  const auto fail = [&](std::string message, std::string place, std::string hint) {
    errors.push_back({"pipeline", std::move(message), std::move(place), std::move(hint)});
  };
  const PipelineSchedule* schedule = find_schedule(pipeline.schedule);
  if (!schedule) {
    std::vector<std::string> names;
    for (const PipelineSchedule& known : all_schedules()) names.push_back(known.name);
    fail(fmt::format("unknown schedule '{}'", pipeline.schedule), "pipeline.schedule",
         name_hint(pipeline.schedule, names));
  }
  if (!mesh.axis) {
    std::vector<std::string> names;
    for (const MeshAxis& axis : mesh.whole.axes()) names.push_back(axis.name);
    fail(fmt::format("the mesh has no axis '{}'", pipeline.axis), "pipeline.axis", name_hint(pipeline.axis, names));
    return errors;
  }
  for (std::string& place : places_of_axis(config.sharding, pipeline.axis)) {
    fail(fmt::format("'{}' is the axis of the pipeline: it cuts the network into stages and cannot split an array",
                     pipeline.axis),
         std::move(place), "another axis of the mesh");
  }
  const PipelineShape shape = pipeline_shape(config, mesh);
  if (shape.stages == 1) return errors;
  if (schedule && shape.microbatches >= 1) {
    for (Error& error : schedule->check(shape)) errors.push_back(std::move(error));
  }
  const int layers = layer_count(forward), chunks = shape.stages * shape.chunks;
  if (layers < chunks) {
    fail(shape.chunks == 1 ? fmt::format("{} stages of a network of {}", shape.stages, counted(layers, "layer"))
                           : fmt::format("{} of {}, of a network of {}", counted(shape.stages, "stage"),
                                         counted(shape.chunks, "chunk"), counted(layers, "layer")),
         shape.chunks == 1 || shape.stages > layers ? fmt::format("mesh.axes[{}].size", *mesh.axis) : "pipeline.chunks",
         "at most as many as there are layers");
  } else if (!pipeline.layers.empty()) {
    const int64_t sum = std::accumulate(pipeline.layers.begin(), pipeline.layers.end(), int64_t{0});
    if (static_cast<int>(pipeline.layers.size()) != chunks || sum != layers) {
      fail(fmt::format("[{}] {} {} of {} together", fmt::join(pipeline.layers, ", "),
                       plural(std::ssize(pipeline.layers), "is", "are"),
                       counted(std::ssize(pipeline.layers), "chunk", "chunks"), counted(sum, "layer")),
           "pipeline.layers",
           fmt::format("{} up to {}, such as [{}]; or leave it out",
                       chunks == 1 ? "1 number that adds" : counted(chunks, "number") + " that add", layers,
                       fmt::join(balanced_layers(layer_seconds(forward, reference_host()), chunks), ", ")));
    }
  }
  return errors;
}

std::vector<bool> ops_before_layers(const Graph& graph) {
  std::vector<bool> before(graph.ops.size()), wanted(graph.values.size());
  for (OpId id = static_cast<OpId>(graph.ops.size()) - 1; id >= 0; --id) {
    const Op& op = graph.ops[id];
    if (op.phase != Phase::forward) continue;
    const bool inside = op.place.layer >= 0;
    before[id] = !inside && std::ranges::any_of(op.outputs, [&](ValueId output) { return wanted[output]; });
    if (!inside && !before[id]) continue;
    for (ValueId input : op.inputs) wanted[input] = true;
  }
  return before;
}

std::vector<double> layer_seconds(const Graph& forward, const Machine& machine) {
  std::vector<EqualLayers> each;
  for (int layer = 0; layer < layer_count(forward); ++layer) each.push_back({layer, 1, layer, 1});
  return layer_seconds(forward, each, machine);
}

std::vector<double> layer_seconds(const Graph& shortened, const std::vector<EqualLayers>& layers,
                                  const Machine& machine) {
  const WorkPrices prices(machine, Mesh());
  const int count = layer_count(shortened);
  if (count == 0) return {};
  std::vector<double> alone(static_cast<size_t>(count)), with_ends(alone.size());
  const std::vector<bool> before = ops_before_layers(shortened);
  for (size_t id = 0; id < shortened.ops.size(); ++id) {
    const Op& op = shortened.ops[id];
    if (op.phase != Phase::forward) continue;
    const int layer = op.place.layer >= 0 ? op.place.layer : before[id] ? 0 : count - 1;
    const double seconds = op_seconds(shortened, op, prices);
    with_ends[static_cast<size_t>(layer)] += seconds;
    if (op.place.layer >= 0) alone[static_cast<size_t>(layer)] += seconds;
  }
  std::vector<double> seconds;
  for (const EqualLayers& equal : layers)
    seconds.insert(seconds.end(), static_cast<size_t>(equal.count), alone[static_cast<size_t>(equal.kept)]);
  if (!seconds.empty()) seconds.front() = with_ends.front(), seconds.back() = with_ends.back();
  return seconds;
}

std::vector<int> balanced_layers(const std::vector<double>& layer_seconds, int parts) {
  const int count = static_cast<int>(layer_seconds.size());
  std::vector<double> sums(layer_seconds.size() + 1);
  std::partial_sum(layer_seconds.begin(), layer_seconds.end(), sums.begin() + 1);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  // best[p][i]: the largest sum of the first i layers in p parts; first[p][i]: layers in all parts but the last.
  std::vector<std::vector<double>> best(static_cast<size_t>(parts) + 1, std::vector<double>(sums.size(), infinite));
  std::vector<std::vector<int>> first(best.size(), std::vector<int>(sums.size()));
  best[0][0] = 0;
  for (int p = 1; p <= parts; ++p) {
    for (int i = p; i <= count - (parts - p); ++i) {
      for (int j = i - 1; j >= p - 1; --j) {
        const double largest = std::max(best[p - 1][j], sums[i] - sums[j]);
        if (largest < best[p][i] * (1 - 1e-12)) best[p][i] = largest, first[p][i] = j;
      }
    }
  }
  std::vector<int> sizes(static_cast<size_t>(parts));
  for (int p = parts, i = count; p > 0; --p) {
    sizes[static_cast<size_t>(p) - 1] = i - first[p][i];
    i = first[p][i];
  }
  return sizes;
}

std::vector<int> layers_of_chunks(const PipelineConfig& pipeline, const PipelineShape& shape, const Graph& forward,
                                  const Machine& machine) {
  const int layers = layer_count(forward);
  if (shape.stages == 1) return {layers};
  if (!pipeline.layers.empty()) return {pipeline.layers.begin(), pipeline.layers.end()};
  return balanced_layers(layer_seconds(forward, machine), shape.stages * shape.chunks);
}

std::vector<int> virtual_stages_of_ops(const Graph& graph, const std::vector<int>& layers) {
  std::vector<int> virtual_stage_of_layer;
  for (size_t virtual_stage = 0; virtual_stage < layers.size(); ++virtual_stage) {
    virtual_stage_of_layer.insert(virtual_stage_of_layer.end(), static_cast<size_t>(layers[virtual_stage]),
                                  static_cast<int>(virtual_stage));
  }
  const int last = static_cast<int>(layers.size()) - 1;
  const std::vector<bool> before = ops_before_layers(graph);
  std::vector<int> virtual_stages(graph.ops.size(), StagedOps::unassigned);
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    if (op.phase != Phase::forward || op.inputs.empty()) continue;
    virtual_stages[id] = op.place.layer >= 0 ? virtual_stage_of_layer[static_cast<size_t>(op.place.layer)]
                         : before[id]        ? 0
                                             : last;
  }
  const std::vector<int> of_state = virtual_stages_of_states(graph, virtual_stages);
  const auto producer_virtual_stage = [&](ValueId value) {
    const OpId producer = graph.values[value].producer;
    return producer == no_id ? StagedOps::unassigned : virtual_stages[static_cast<size_t>(producer)];
  };
  std::vector<int> state_of_value(graph.values.size(), no_id);
  for (size_t s = 0; s < graph.states.size(); ++s) {
    const State& state = graph.states[s];
    for (ValueId value : {state.initial, state.before, state.after, state.gradient}) {
      if (value != no_id) state_of_value[static_cast<size_t>(value)] = static_cast<int>(s);
    }
  }
  const auto by_state = [&](const std::vector<ValueId>& values) {
    for (ValueId value : values) {
      const int state = state_of_value[static_cast<size_t>(value)];
      if (state != no_id) return of_state[static_cast<size_t>(state)];
    }
    return StagedOps::unassigned;
  };
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    if (op.phase == Phase::forward) continue;
    int& virtual_stage = virtual_stages[id];
    if (op.phase == Phase::initialise) {
      virtual_stage = by_state(op.outputs);
      continue;
    }
    if (op.inputs.empty()) continue;
    if (op.phase == Phase::update) {
      virtual_stage = by_state(op.outputs);
      if (virtual_stage == StagedOps::unassigned) virtual_stage = by_state(op.inputs);
    } else if (op.forward_op != no_id) {
      virtual_stage = virtual_stages[static_cast<size_t>(op.forward_op)];
    }
    for (size_t i = 0; i < op.inputs.size() && virtual_stage == StagedOps::unassigned; ++i) {
      if (op.phase != Phase::update || !graph.type(op.inputs[i]).shape.empty())
        virtual_stage = producer_virtual_stage(op.inputs[i]);
    }
    if (virtual_stage == StagedOps::unassigned) virtual_stage = 0;
  }
  return virtual_stages;
}

std::vector<int> virtual_stages_of_states(const Graph& graph, const std::vector<int>& virtual_stage_of_op) {
  std::vector<int> of_value(graph.values.size(), StagedOps::unassigned);
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    if (graph.ops[id].phase != Phase::forward) continue;
    for (ValueId input : graph.ops[id].inputs) {
      int& virtual_stage = of_value[static_cast<size_t>(input)];
      if (virtual_stage == StagedOps::unassigned || virtual_stage_of_op[id] < virtual_stage)
        virtual_stage = virtual_stage_of_op[id];
    }
  }
  std::vector<int> of_state;
  for (const State& state : graph.states) {
    const int used = of_value[static_cast<size_t>(state.before)];
    const bool follows = used == StagedOps::unassigned && state.follows != no_id;
    of_state.push_back(follows ? of_state[static_cast<size_t>(state.follows)] : std::max(used, 0));
  }
  return of_state;
}

std::vector<bool> weight_gradient_ops(const Graph& graph) {
  const std::vector<bool> of_states = values_of_states(graph);
  std::vector<bool> wanted(graph.values.size());   // is, or adds up to, the gradient of a parameter
  std::vector<bool> awaited(graph.values.size());  // some other op of backward uses it
  for (size_t v = 0; v < wanted.size(); ++v) {
    const ValueId of = graph.values[v].cotangent_of;
    wanted[v] = of != no_id && of_states[of];
  }
  std::vector<bool> alone(graph.ops.size());
  for (OpId id = static_cast<OpId>(graph.ops.size()) - 1; id >= 0; --id) {
    const Op& op = graph.ops[id];
    if (op.phase != Phase::backward) {
      // What is recomputed is part of backward of inputs.
      if (op.phase == Phase::recompute) {
        for (ValueId input : op.inputs) awaited[input] = true;
      }
      continue;
    }
    const auto is_free = [&](ValueId output) {
      const bool of_activation = graph.values[output].cotangent_of != no_id && !wanted[output];
      return !of_activation && !awaited[output];
    };
    alone[id] = op.definition->accumulates() || std::ranges::all_of(op.outputs, is_free);
    for (ValueId input : op.inputs) {
      if (!alone[id]) awaited[input] = true;
    }
  }
  return alone;
}

}  // namespace shardscope
