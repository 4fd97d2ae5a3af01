#include "engine/lint/rules/parameter_gathers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/base/path.h"
#include "engine/base/units.h"
#include "engine/graph/op_definition.h"
#include "engine/lint/rules/array_moves.h"

namespace shardscope {
namespace {

// Axes over which ops of forward and backward, but for casts, read each parameter split; and who looks it up.
struct Reads {
  std::vector<uint8_t> split;
  std::vector<bool> looked_up;
};

Reads reads_of(const Plan& plan) {
  Reads reads{std::vector<uint8_t>(plan.parameters.size()), std::vector<bool>(plan.parameters.size())};
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
        reads.split[*at->second] |= read.sharding.used_axes();
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

}  // namespace

std::vector<GatheredParameter> gathered_parameters(const LintSubject& subject) {
  const Plan& plan = subject.plan;
  const Reads reads = reads_of(plan);
  std::vector<GatheredParameter> found;
  std::map<std::tuple<std::string, AxisIndex, int>, size_t> at;
  for (const ArrayMove& move : array_moves(plan)) {
    if (move.kind != InstructionKind::all_gather || move.phase == Phase::update) continue;
    const std::optional<size_t> index = parameter_of(plan, move.value);
    if (!index) continue;
    const ParameterPlan& parameter = plan.parameters[*index];
    const bool is_looked_up = reads.looked_up[*index];
    for (const AxisIndex axis : move.axes) {
      const int dim = dim_over(parameter.sharding, axis);
      if (dim < 0 || (subject.axes[axis].splits_rows && !is_looked_up) || reads.split[*index] >> axis & 1) continue;
      const std::string place = parameter.place.empty() ? parameter_place({parameter.path, {}}) : parameter.place;
      const auto [it, is_new] = at.try_emplace({place, axis, dim}, found.size());
      if (is_new) found.push_back({place, {}, axis, dim, 0, is_looked_up});
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
      "{}{} split over '{}' along dimension {}, which nothing that uses {} keeps: gathered for "
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
  set(without);
  fault.no_fix = "where memory is short it may stay: each device keeps its part between uses";
  return fault;
}

}  // namespace shardscope
