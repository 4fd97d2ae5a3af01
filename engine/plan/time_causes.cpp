#include "engine/plan/time_causes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "engine/graph/op_definition.h"
#include "engine/plan/hidden_transfers.h"

namespace shardscope {
namespace {

std::string axes_text(const Plan& plan, const AxisList& axes) {
  std::vector<std::string> names;
  for (const AxisIndex axis : axes) names.push_back(plan.mesh.axes()[axis].name);
  return fmt::format("{}", fmt::join(names, ","));
}

std::string moved_text(const Plan& plan, std::span<const int> operands) {
  std::vector<std::string> names;
  for (const int operand : operands) {
    const ValueId value = plan.program.values[static_cast<size_t>(operand)].graph_value;
    std::string name = value == no_id ? plan.value_name(operand) : plan.graph->values[static_cast<size_t>(value)].name;
    name = pattern_of(name);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  if (names.size() > 2) return fmt::format("{}, {} and {} more", names[0], names[1], names.size() - 2);
  return fmt::format("{}", fmt::join(names, " and "));
}

std::string phase_text(Phase phase) { return phase == Phase::forward ? "" : fmt::format(" ({})", name(phase)); }

// The stage of a pipeline that works longest.
int busiest_stage(const Plan& plan) {
  const std::vector<PlanTotals>& stages = plan.pipeline.totals;
  const auto most = std::ranges::max_element(stages, {}, &PlanTotals::seconds_per_step);
  return static_cast<int>(most - stages.begin());
}

// What the device computes while a transfer runs, most of it.
std::string hiding(const std::vector<Simulation::Span>& spans, const std::vector<std::string>& names,
                   const Simulation::Span& transfer) {
  std::map<std::string, double> seconds;
  auto from = std::ranges::lower_bound(spans, transfer.start, {}, &Simulation::Span::end);
  for (; from != spans.end() && from->start < transfer.end; ++from) {
    const std::string& name = names[static_cast<size_t>(from - spans.begin())];
    if (!name.empty()) seconds[name] += std::min(from->end, transfer.end) - std::max(from->start, transfer.start);
  }
  const auto most = std::ranges::max_element(seconds, {}, [](const auto& one) { return one.second; });
  return most == seconds.end() ? std::string() : most->first;
}

}  // namespace

std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (const char letter : name) {
    if (!std::isdigit(static_cast<unsigned char>(letter))) pattern += letter;
    else if (!pattern.ends_with('*')) pattern += '*';
  }
  return pattern;
}

std::string cause_name(const Plan& plan, int stage, int position) {
  const SequenceInstructions instructions = plan.instructions(stage);
  const Instruction& instruction = instructions[instructions.start_of(position)];
  const std::string phase = phase_text(instruction.phase);
  if (is_transfer(instruction.kind())) return "messages between stages";
  if (const CollectiveStart* start = instruction.as<CollectiveStart>()) {
    return fmt::format("{} of {} over {}{}", name(start->kind), moved_text(plan, start->operands),
                       axes_text(plan, start->axes), phase);
  }
  if (const Slice* slice = instruction.as<Slice>())
    return fmt::format("slice of {}{}", moved_text(plan, slice->operands), phase);
  const Op& op = plan.graph->ops[static_cast<size_t>(instruction.op)];
  return fmt::format("{} {}{}", op.definition->name(), pattern_of(op.name), phase);
}

std::vector<TimeCause> time_causes(const Plan& plan) {
  const int stage = busiest_stage(plan);
  const SequenceInstructions instructions = plan.instructions(stage);
  const std::vector<Simulation::Span>& spans = plan.simulation.stages[static_cast<size_t>(stage)];
  std::map<InstructionId, std::string> known;
  std::vector<TimeCause> causes;
  std::map<std::string, size_t> at;
  std::map<std::string, double> most_hidden;
  const auto cause = [&](const std::string& name) -> TimeCause& {
    const auto [it, is_new] = at.try_emplace(name, causes.size());
    if (is_new) causes.emplace_back().name = name;
    return causes[it->second];
  };
  const auto name_at = [&](int position) -> const std::string& {
    std::string& name = known[whole_collective(plan.program.tasks, instructions.id(position))];
    if (name.empty()) name = cause_name(plan, stage, position);
    return name;
  };
  // Whether nothing of the cause is hidden longer.
  const auto add_hidden = [&](TimeCause& of, double hidden) {
    of.hidden += std::max(0.0, hidden);
    double& most = most_hidden[of.name];
    return hidden > std::exchange(most, std::max(most, hidden));
  };
  double busy = 0;
  std::vector<std::string> computed(spans.size());
  for (int position = 0; position < instructions.size(); ++position) {
    const Instruction& instruction = instructions[position];
    const double seconds = spans[static_cast<size_t>(position)].end - spans[static_cast<size_t>(position)].start;
    TimeCause& of = cause(name_at(position));
    of.seconds += seconds;
    of.wire_bytes += instruction.wire_bytes();
    of.count += !instruction.as<CollectiveDone>();
    busy += seconds;
    if (!is_communication(instruction.kind())) computed[static_cast<size_t>(position)] = of.name;
  }
  for (const TransferSpan& transfer : plan.simulation.transfers[static_cast<size_t>(stage)]) {
    TimeCause& of = cause(name_at(transfer.position));
    const Simulation::Span& wait = spans[static_cast<size_t>(instructions.done_of(transfer.position))];
    const double hidden = transfer.span.end - transfer.span.start - (wait.end - wait.start);
    if (add_hidden(of, hidden)) of.behind = hiding(spans, computed, transfer.span);
  }
  for (const HiddenTransfer& transfer : transfers_behind_passes(plan, stage)) {
    TimeCause& of = cause(name_at(transfer.position));
    if (add_hidden(of, transfer.span.end - transfer.span.start)) of.behind = pass_text(transfer.of_parameters);
  }
  if (plan.program.stages > 1) cause(waiting_cause).seconds = plan.simulation.seconds - busy;
  std::ranges::stable_sort(causes, std::greater{},
                           [](const TimeCause& one) { return std::pair(one.seconds, one.hidden); });
  return causes;
}

}  // namespace shardscope
