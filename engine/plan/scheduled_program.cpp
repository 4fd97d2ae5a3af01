#include "engine/plan/scheduled_program.h"

#include <algorithm>
#include <future>
#include <limits>
#include <optional>

#include "engine/plan/memory_plan.h"
#include "engine/plan/overlap_schedule.h"
#include "engine/simulate/simulation_totals.h"

namespace shardscope {

namespace {

Simulation simulated(const Program& program, const ScheduleProblem& problem) {
  const auto run = problem.totals_only ? simulate_totals : simulate;
  return run(program, problem.graph, problem.mesh, program.main().purpose, problem.seconds, problem.streams);
}

std::vector<ArenaLayout> arenas_of(const Program& program, const ScheduleProblem& problem) {
  const auto plan = problem.packs ? plan_memory : plan_memory_unpacked;
  std::vector<ArenaLayout> arenas;
  for (int stage = 0; stage < program.stages; ++stage)
    arenas.push_back(plan(program, problem.graph, problem.threads, stage));
  return arenas;
}

// Nothing where it takes `limit` seconds or more. Those who want totals alone make many plans at a time, and others
// wait for one, so that its memory is planned meanwhile.
std::optional<ScheduledProgram> as_ordered(Program& program, const ScheduleProblem& problem, double limit) {
  size_channels(program, problem.graph, problem.mesh, problem.seconds, problem.streams);
  std::future<Simulation> simulation;
  std::vector<ArenaLayout> arenas;
  if (!problem.totals_only) {
    simulation = std::async(std::launch::async, [&] { return simulated(program, problem); });
    arenas = arenas_of(program, problem);
  }
  Simulation known = simulation.valid() ? simulation.get() : simulated(program, problem);
  if (known.seconds >= limit) return {};
  if (problem.totals_only) arenas = arenas_of(program, problem);
  return ScheduledProgram{std::move(arenas), std::move(known)};
}

}  // namespace

int64_t ScheduledProgram::arena_bytes() const { return largest_arena_bytes(arenas); }

ScheduledProgram schedule(Program& program, const ScheduleProblem& problem) {
  ScheduledProgram blocking = *as_ordered(program, problem, std::numeric_limits<double>::infinity());
  if (problem.overlap == OverlapMode::off || !problem.streams.may_hide_communication()) return blocking;
  const int64_t least = blocking.arena_bytes(), known = problem.memory_limit_bytes;
  const bool fits_nowhere = known > 0 && least > known;
  const int64_t limit = fits_nowhere ? std::numeric_limits<int64_t>::max() : std::max(known, least);
  const std::vector<StageChannel> channels = program.channels;
  for (double lookahead : {2.0, 1.0, 0.5, 0.0}) {
    std::vector<IssueOrder> orders =
        overlapped_orders(program, problem.graph, problem.seconds, problem.streams, lookahead);
    for (size_t t = 0; t < program.tasks.size(); ++t) program.tasks[t].order = std::move(orders[t]);
    std::optional<ScheduledProgram> overlapped = as_ordered(program, problem, blocking.simulation.seconds);
    if (overlapped && overlapped->arena_bytes() <= limit) return *std::move(overlapped);
  }
  for (Task& task : program.tasks) task.order = {};
  program.channels = channels;
  return blocking;
}

}  // namespace shardscope
