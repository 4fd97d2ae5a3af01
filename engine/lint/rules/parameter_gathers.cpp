#include "engine/lint/rules/parameter_gathers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "engine/base/path.h"
#include "engine/base/units.h"
#include "engine/graph/op_definition.h"
#include "engine/lint/rules/collective_moves.h"

namespace shardscope {
namespace {

// Along each dimension the axes over which ops of forward and backward, but for casts, read each parameter split; and
// who looks it up.
struct Reads {
  std::vector<std::array<uint8_t, Sharding::max_rank>> split;
  std::vector<bool> looked_up;
};

Reads reads_of(const Plan& plan) {
  Reads reads{std::vector<std::array<uint8_t, Sharding::max_rank>>(plan.parameters.size()),
              std::vector<bool>(plan.parameters.size())};
  std::map<ValueId, std::optional<size_t>> known;
  for (const Task& task : plan.program.tasks) {
    if (task.phase == Phase::update || task.phase == Phase::initialise) continue;
    for (const Instruction& instruction : task.instructions) {
      const Compute* compute = instruction.as<Compute>();
      if (!compute) continue;
      const std::string_view op = plan.graph->ops[static_cast<size_t>(instruction.op)].definition->name();
      if (op == "cast") continue;
      for (const int operand : compute->operands) {
        const ProgramValue& read = plan.program.values[static_cast<size_t>(operand)];
        if (read.graph_value == no_id) continue;
        const auto [at, is_new] = known.try_emplace(read.graph_value);
        if (is_new) at->second = parameter_of(plan, read.graph_value);
        if (!at->second) continue;
        for (size_t dim = 0; dim < static_cast<size_t>(read.sharding.rank); ++dim)
          for (const AxisIndex axis : read.sharding.dims[dim])
            reads.split[*at->second][dim] |= static_cast<uint8_t>(1 << axis);
        if (op == "embedding") reads.looked_up[*at->second] = true;
      }
    }
  }
  return reads;
}

int dim_over(const Sharding& sharding, AxisIndex axis) {
  for (int dim = 0; dim < sharding.rank; ++dim) {
    if (sharding.dims[static_cast<size_t>(dim)].contains(axis)) return dim;
  }
  return -1;
}

// Axes over which at least half of the bytes of all parameters are stored split.
uint8_t axes_of_most_bytes(const Plan& plan) {
  std::array<int64_t, Mesh::max_axes> split{};
  int64_t all = 0;
  for (const ParameterPlan& parameter : plan.parameters) {
    const int64_t bytes = element_count(parameter.shape) * byte_size(parameter.dtype);
    all += bytes;
    for (size_t axis = 0; axis < split.size(); ++axis)
      if (parameter.sharding.used_axes() >> axis & 1) split[axis] += bytes;
  }
  uint8_t most = 0;
  for (size_t axis = 0; axis < split.size(); ++axis)
    if (2 * split[axis] >= all) most |= static_cast<uint8_t>(1 << axis);
  return most;
}

}  // namespace

std::vector<GatheredParameter> gathered_parameters(const LintSubject& subject) {
  const Plan& plan = subject.plan;
  const Reads reads = reads_of(plan);
  const uint8_t of_most_bytes = axes_of_most_bytes(plan);
  std::vector<GatheredParameter> found;
  std::map<std::tuple<std::string, AxisIndex, int>, size_t> at;
  for (const CollectiveMove& move : collective_moves(plan)) {
    const bool is_gather = move.kind == InstructionKind::all_gather || move.kind == InstructionKind::all_to_all;
    if (!is_gather || move.phase == Phase::update) continue;
    const std::optional<size_t> index = parameter_of(plan, move.value);
    if (!index) continue;
    const ParameterPlan& parameter = plan.parameters[*index];
    const bool is_looked_up = reads.looked_up[*index];
    for (const AxisIndex axis : move.axes) {
      const int dim = dim_over(parameter.sharding, axis);
      if (dim < 0 || reads.split[*index][static_cast<size_t>(dim)] >> axis & 1) continue;
      const bool is_fsdp = subject.axes[axis].splits_rows && of_most_bytes >> axis & 1;
      if (is_fsdp && !is_looked_up) continue;
      const std::string place = parameter.place.empty() ? parameter_place({parameter.path, {}}) : parameter.place;
      const auto [it, is_new] = at.try_emplace({place, axis, dim}, found.size());
      if (is_new) found.push_back({place, {}, axis, dim, move.to, 0, is_looked_up});
      GatheredParameter& gathered = found[it->second];
      gathered.seconds += move.seconds;
      if (std::ranges::find(gathered.parameters, *index) == gathered.parameters.end())
        gathered.parameters.push_back(*index);
    }
  }
  return found;
}

Fault fault_of(const LintSubject& subject, const GatheredParameter& gathered) {
  const Plan& plan = subject.plan;
  const ParameterPlan& first = plan.parameters[gathered.parameters.front()];
  const bool has_own_line = gathered.place.starts_with("sharding.parameters");
  Fault fault;
  fault.place = gathered.place;
  fault.message = fmt::format(
      "{}{} split over '{}' along dimension {}, which nothing that uses {} keeps: moved before "
      "each use ({} a step)",
      join_path(first.path),
      gathered.parameters.size() > 1 ? fmt::format(" and {} more are", gathered.parameters.size() - 1) : " is",
      subject.axes[gathered.axis].name, gathered.dim, gathered.parameters.size() > 1 ? "them" : "it",
      seconds_text(gathered.seconds));
  fault.seconds = gathered.seconds;
  const auto set = [&](const Sharding& sharding) {
    Settings settings;
    if (has_own_line) settings.push_back(spec_setting(plan, gathered.place, sharding));
    else
      for (const size_t index : gathered.parameters)
        settings.push_back(spec_setting(plan, parameter_place({plan.parameters[index].path, {}}), sharding));
    fault.fixes.push_back(std::move(settings));
  };
  set(gathered.wanted);
  Sharding without = first.sharding;
  AxisList left;
  for (const AxisIndex axis : without.dims[static_cast<size_t>(gathered.dim)]) {
    if (axis != gathered.axis) left.push_back(axis);
  }
  without.dims[static_cast<size_t>(gathered.dim)] = left;
  for (int dim = 0; dim < without.rank; ++dim) {
    if (dim == gathered.dim) continue;
    Sharding moved = without;
    moved.dims[static_cast<size_t>(dim)].push_back(gathered.axis);
    if (divides(moved, plan.mesh, first.shape)) set(moved);
  }
  if (!(without == gathered.wanted)) set(without);
  fault.no_fix = "where memory is short it may stay: each device keeps its part between uses";
  return fault;
}

}  // namespace shardscope
