#include "engine/compile/lay_out.h"

#include <algorithm>

#include "engine/plan/blocking_groups.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/scheduled_program.h"
#include "engine/plan/weight_gradient_order.h"

namespace shardscope {

namespace {

LaidOut lay_out(const LayoutProblem& problem, LayoutChoice choice, bool as_written, const Scheduling& scheduling) {
  LaidOut result;
  result.choice = std::move(choice);
  result.as_written = as_written;
  result.lowered = lower(problem, result.choice);
  Program& program = result.lowered.program;
  result.instruction_seconds = predict_seconds(program, problem.graph, problem.prices);
  const MachinePrices& machine = problem.prices.machine();
  std::vector<int> levels;
  for (const AxisList& axes : program.groups) levels.push_back(problem.prices.placement(axes).level());
  const Stack& stack = problem.prices.stack();
  if (!stack.runs_here())
    result.hidden_seconds = hide_behind_passes(program, problem.graph, stack.overlap,
                                               machine.machine().device.host_seconds(), result.instruction_seconds);
  Streams streams =
      streams_on(machine.machine(), levels,
                 stack.runs_here() ? std::vector<bool>() : blocking_groups(program, problem.graph, stack.overlap));
  streams.blocking_messages = stack.overlap.blocking_messages;
  if (streams.may_hide_communication() && orders_weight_gradients(scheduling.overlap, stack, machine.machine()))
    list_weight_gradients(program, problem.graph, result.instruction_seconds, streams);
  ScheduledProgram scheduled =
      schedule(program, {problem.graph, problem.mesh, result.instruction_seconds, streams, machine.threads_per_rank(),
                         scheduling.memory_limit_bytes, scheduling.overlap, scheduling.totals_only, scheduling.packs});
  result.arenas = std::move(scheduled.arenas);
  result.simulation = std::move(scheduled.simulation);
  const std::vector<double> hidden = hidden_of_stages(program, result.hidden_seconds);
  for (size_t stage = 0; stage < hidden.size(); ++stage) result.simulation.communication[stage].hidden += hidden[stage];
  result.overlapped = scheduling.overlap != OverlapMode::off && streams.may_hide_communication();
  result.seconds = result.simulation.seconds;
  return result;
}

}  // namespace

int64_t LaidOut::arena_bytes() const { return largest_arena_bytes(arenas); }

LaidOut lay_out_as_written(const LayoutProblem& problem, const Scheduling& scheduling) {
  LayoutProblem fixed{problem.graph, problem.mesh, problem.start.defined, problem.prices};
  fixed.bucket_bytes = problem.bucket_bytes;
  fixed.microbatches = problem.microbatches;
  fixed.staged = problem.staged;
  LayoutChoice choice = fixed_choice(problem.start.placements, problem.graph.values.size());
  if (!problem.reshard_after_forward.empty()) choice.reshard_after_forward = problem.reshard_after_forward;
  return lay_out(fixed, std::move(choice), true, scheduling);
}

LaidOut lay_out_fastest(const LayoutProblem& problem, const Scheduling& scheduling, std::stop_token stop) {
  constexpr double rounding = 1e-9;
  LaidOut best;
  const auto fits = [&](const LaidOut& made) { return made.arena_bytes() <= problem.memory_limit_bytes; };
  const auto consider = [&](LaidOut made) {
    const bool fitting = fits(made);
    const bool wins = best.choice.empty() || (fitting != fits(best) ? fitting : made.seconds < best.seconds);
    if (wins) best = std::move(made);
    return fitting;
  };
  const LayoutChoice priced = choose_layouts(
      problem, [&](const LayoutChoice& choice) { return consider(lay_out(problem, choice, false, scheduling)); }, stop);
  if (priced.empty()) return {};
  const bool is_issued_ahead = problem.prices.machine().machine().device.host_seconds() > 0;
  const bool is_price_exact = problem.staged.empty() && !best.overlapped && !is_issued_ahead;
  const bool is_faster_as_written = priced.start_seconds <= best.seconds * (1 + rounding);
  const bool may_be_only_fit = !fits(best) && !priced.nothing_fits;
  if (!is_price_exact || is_faster_as_written || may_be_only_fit) consider(lay_out_as_written(problem, scheduling));
  best.priced_seconds = priced.seconds;
  best.priced_as_written = priced.start_seconds;
  return best;
}

}  // namespace shardscope
