#include "engine/compile/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/units.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/host_memory.h"
#include "engine/plan/memory_plan.h"

namespace shardscope {

namespace {

Origin cost_origin(const LayoutProblem& problem, LayoutMode mode, const LaidOut& laid_out, OpId op) {
  const OpChoice& choice = laid_out.choice[op];
  if (mode == LayoutMode::as_written) return {Origin::Kind::replicated, "nothing that you pinned reaches it"};
  if (laid_out.as_written) return {Origin::Kind::cost, "fastest: as written"};
  if (!choice.runner_up) return {Origin::Kind::replicated, "there is no other legal layout"};
  std::string other = to_string(result_sharding(problem.graph.rule(op), *choice.runner_up, 0), problem.mesh);
  return {Origin::Kind::cost,
          fmt::format("fastest: {} instead would take {:.2f} ms more a step", other, choice.margin_seconds * 1e3)};
}

}  // namespace

std::vector<ParameterPlan> describe_parameters(const Graph& graph, const Mesh& mesh,
                                               const std::vector<ResolvedSpec>& specs,
                                               const std::vector<Origin>& origins, const Lowered& lowered) {
  std::vector<ParameterPlan> plans;
  std::vector<int> plan_of(graph.states.size(), -1);
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const State& state = graph.states[i];
    const int stored = lowered.versions[state.before].front();
    if (state.is_parameter()) {
      const TensorType& type = graph.type(state.before);
      plan_of[i] = static_cast<int>(plans.size());
      plans.push_back({state.path,
                       type.shape,
                       type.dtype,
                       specs[i].spec,
                       !specs[i].place.empty(),
                       specs[i].place,
                       to_sharding(specs[i].spec, mesh, static_cast<int>(type.shape.size())),
                       origins[state.before],
                       static_cast<StateId>(i),
                       stored,
                       {},
                       {}});
    } else if (state.follows != no_id && plan_of[state.follows] >= 0) {
      ParameterPlan& parameter = plans[plan_of[state.follows]];
      parameter.state_names.push_back(state.collection.substr(state.collection.find('/') + 1));
      parameter.state_values.push_back(stored);
    }
  }
  return plans;
}

std::vector<ValueLayout> describe_layouts(const LayoutProblem& problem, const std::vector<Origin>& origins,
                                          LayoutMode mode, const LaidOut& laid_out, const Program& program) {
  const Lowered& lowered = laid_out.lowered;
  std::vector<ValueLayout> layouts;
  const Graph& graph = problem.graph;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    bool shown = value.kind == ValueKind::input ||
                 (value.producer != no_id && graph.ops[value.producer].phase == Phase::forward);
    if (!shown || lowered.defined[v] < 0) continue;
    Origin origin = origins[v];
    if (origin.text.empty() && value.producer != no_id) {
      origin = cost_origin(problem, mode, laid_out, value.producer);
    }
    layouts.push_back({static_cast<ValueId>(v), value.name, value.type.shape,
                       program.values[lowered.defined[v]].sharding, std::move(origin)});
  }
  return layouts;
}

// Of the device that sends most.
double most_wire_bytes(const Program& program, int stage) {
  double of_all = 0;
  std::vector<std::pair<AxisList, std::vector<double>>> of_members;  // what permutes that reach some alone send
  for (const Instruction& instruction : program.main_instructions(stage)) {
    const CollectiveStart* start = instruction.as<CollectiveStart>();
    if (!start || start->receivers.empty()) {
      of_all += instruction.wire_bytes();
      continue;
    }
    auto found = std::ranges::find(of_members, start->axes, &std::pair<AxisList, std::vector<double>>::first);
    if (found == of_members.end()) {
      found = of_members.insert(found, {start->axes, std::vector<double>(static_cast<size_t>(start->group_size))});
    }
    for (int64_t member = 0; member < start->group_size; ++member) {
      if (start->sends(member)) found->second[static_cast<size_t>(member)] += start->wire_bytes;
    }
  }
  for (const auto& [axes, bytes] : of_members) of_all += std::ranges::max(bytes);
  return of_all;
}

PlanTotals memory_total(const ArenaLayout& arena) {
  PlanTotals totals;
  const MemoryPeak peak = memory_peak(arena);
  totals.memory = totals.device_memory = peak.categories;
  totals.live_lower_bound = peak.live_bytes;
  totals.memory_total = totals.device_bytes = arena.bytes;
  return totals;
}

PlanTotals total(const Program& program, const ArenaLayout& arena, const Simulation& simulation, int stage) {
  PlanTotals totals = memory_total(arena);
  totals.wire_bytes_per_device = most_wire_bytes(program, stage);
  for (const Instruction& instruction : program.main_instructions(stage)) {
    totals.flops_per_device += instruction.flops();
  }
  totals.seconds_per_step = simulation.working_seconds(stage);
  return totals;
}

PlanTotals total(const std::vector<PlanTotals>& stages, double seconds) {
  PlanTotals all = std::ranges::max(stages, {}, &PlanTotals::memory_total);
  for (const PlanTotals& stage : stages) {
    all.wire_bytes_per_device = std::max(all.wire_bytes_per_device, stage.wire_bytes_per_device);
    all.flops_per_device = std::max(all.flops_per_device, stage.flops_per_device);
  }
  all.seconds_per_step = seconds;
  return all;
}

std::string bf16_products(const Plan& plan) {
  const auto is_bf16_product = [&](const Instruction& instruction) {
    if (instruction.kind() != InstructionKind::compute ||
        !plan.graph->ops[instruction.op].definition->is_matrix_product())
      return false;
    return !instruction.operands().empty() && plan.program.values[instruction.operands()[0]].dtype == DType::bf16;
  };
  for (const Task& task : plan.program.tasks) {
    if (std::ranges::none_of(task.instructions, is_bf16_product)) continue;
    const std::string& how = plan.machine.device.bf16_products;
    const bool can_measure = plan.machine.device.kind == DeviceKind::host_cores;
    return how.empty() && can_measure ? "not measured; 'shardrun calibrate' tells" : how;
  }
  return {};
}

std::vector<Error> warnings(const Plan& plan, std::optional<int64_t> memory_limit_mib) {
  std::vector<Error> list;
  if (std::optional<Error> excess = host_memory_excess(plan)) list.push_back(std::move(*excess));
  const int64_t needed = plan.totals.device_bytes;
  if (memory_limit_mib && needed > *memory_limit_mib << 20) {
    list.push_back({"memory",
                    fmt::format("a device needs {}, {} more than the limit; no layout was found that keeps it",
                                bytes_text(double(needed)), bytes_text(double(needed - (*memory_limit_mib << 20)))),
                    "sharding.memory_limit_mib", "split more, use a smaller batch, or raise the limit"});
  }
  return list;
}

}  // namespace shardscope
