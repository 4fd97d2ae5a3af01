#include "engine/compile/lay_out.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/plan/cost_model.h"
#include "engine/plan/scheduled_program.h"

namespace shardscope {

namespace {

LaidOut lay_out(const LayoutProblem& problem, LayoutChoice choice, bool as_written, const Scheduling& scheduling) {
  LaidOut result;
  result.choice = std::move(choice);
  result.as_written = as_written;
  if (result.choice.empty()) return result;
  result.lowered = lower(problem, result.choice);
  Program& program = result.lowered.program;
  result.instruction_seconds = predict_seconds(program, problem.graph, problem.prices);
  const MachinePrices& machine = problem.prices.machine();
  std::vector<int> levels;
  for (const AxisList& axes : program.groups) levels.push_back(problem.prices.placement(axes).level());
  const Streams streams = streams_on(machine.machine(), levels);
  ScheduledProgram scheduled =
      schedule(program, {problem.graph, problem.mesh, result.instruction_seconds, streams, machine.threads_per_rank(),
                         scheduling.memory_limit_bytes, scheduling.overlap});
  result.arenas = std::move(scheduled.arenas);
  result.simulation = std::move(scheduled.simulation);
  result.seconds = result.simulation.seconds;
  return result;
}

}  // namespace

int64_t LaidOut::arena_bytes() const { return std::ranges::max(arenas, {}, &ArenaLayout::bytes).bytes; }

LaidOut lay_out_as_written(const LayoutProblem& problem, const Scheduling& scheduling) {
  LayoutProblem fixed{problem.graph, problem.mesh, problem.start.lies, problem.prices};
  fixed.bucket_bytes = problem.bucket_bytes;
  fixed.microbatches = problem.microbatches;
  fixed.staged = problem.staged;
  LayoutChoice choice = fixed_choice(problem.start.placements, problem.graph.values.size());
  if (!problem.regather.empty()) choice.regather = problem.regather;
  return lay_out(fixed, std::move(choice), true, scheduling);
}

LaidOut lay_out_fastest(LayoutProblem problem, const Scheduling& scheduling, std::stop_token stop) {
  constexpr int attempts = 3;
  constexpr double estimate_slack = 1.5;
  const double limit = static_cast<double>(problem.memory_limit_bytes);
  // The search sees all stages as one device.
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const int stages = problem.staged.shape.stages;
  problem.memory_limit_bytes = problem.memory_limit_bytes > most / stages ? most : problem.memory_limit_bytes * stages;
  LaidOut best = lay_out(problem, choose_layouts(problem, stop), false, scheduling);
  if (best.choice.empty()) return best;
  auto over = [&](const LaidOut& made) { return static_cast<double>(made.arena_bytes()) - limit; };
  auto keep_better = [&](LaidOut next) {
    const bool fits = over(next) <= 0, fitted = over(best) <= 0;
    if (fits != fitted ? fits : next.seconds < best.seconds) best = std::move(next);
  };
  const double start_seconds = best.choice.start_seconds, start_bytes = best.choice.start_memory_bytes;
  const double gain = start_seconds - best.choice.seconds;
  double estimate = best.choice.memory_bytes, excess = over(best);
  for (int attempt = 0; attempt < attempts && excess > 0 && estimate > excess && std::isfinite(estimate); ++attempt) {
    problem.memory_limit_bytes = static_cast<int64_t>(estimate - excess);
    LaidOut next = lay_out(problem, choose_layouts(problem, stop), false, scheduling);
    if (next.choice.empty()) return next;
    estimate = next.choice.memory_bytes, excess = over(next);
    keep_better(std::move(next));
  }
  AxisList all;
  for (int axis = 0; axis < problem.mesh.axis_count(); ++axis) all.push_back(static_cast<AxisIndex>(axis));
  const double rendezvous = problem.prices.collective(InstructionKind::all_reduce, 0, all);
  const double doubt = 0.005 * start_seconds + 16 * rendezvous;
  const bool only_fit = over(best) > 0 && start_bytes <= estimate_slack * limit;
  const bool overlaps = scheduling.overlap != OverlapMode::off && !problem.prices.machine().machine().overlap.empty();
  if (only_fit || best.choice.traded || gain < doubt || overlaps) keep_better(lay_out_as_written(problem, scheduling));
  return best;
}

}  // namespace shardscope
