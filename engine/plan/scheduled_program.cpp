#include "engine/plan/scheduled_program.h"

#include <algorithm>
#include <future>
#include <limits>

#include "engine/plan/memory_plan.h"
#include "engine/plan/overlap_schedule.h"
#include "engine/simulate/simulation_totals.h"

namespace shardscope {

namespace {

ScheduledProgram as_ordered(Program& program, const ScheduleProblem& problem) {
  ScheduledProgram scheduled;
  size_channels(program, problem.graph, problem.mesh, problem.seconds, problem.streams);
  const auto run = problem.totals_only ? simulate_totals : simulate;
  // Those who want totals alone make many plans at a time.
  std::future<Simulation> simulation =
      std::async(problem.totals_only ? std::launch::deferred : std::launch::async, [&] {
        return run(program, problem.graph, problem.mesh, program.main().purpose, problem.seconds, problem.streams);
      });
  for (int stage = 0; stage < program.stages; ++stage)
    scheduled.arenas.push_back(plan_memory(program, problem.graph, problem.threads, stage));
  scheduled.simulation = simulation.get();
  return scheduled;
}

}  // namespace

int64_t ScheduledProgram::arena_bytes() const { return largest_arena_bytes(arenas); }

ScheduledProgram schedule(Program& program, const ScheduleProblem& problem) {
  ScheduledProgram blocking = as_ordered(program, problem);
  if (problem.overlap == OverlapMode::off || !problem.streams.may_hide_communication()) return blocking;
  const int64_t least = blocking.arena_bytes(), known = problem.memory_limit_bytes;
  const bool fits_nowhere = known > 0 && least > known;
  const int64_t limit = fits_nowhere ? std::numeric_limits<int64_t>::max() : std::max(known, least);
  const std::vector<StageChannel> channels = program.channels;
  for (double lookahead : {2.0, 1.0, 0.5, 0.0}) {
    std::vector<IssueOrder> orders =
        overlapped_orders(program, problem.graph, problem.seconds, problem.streams, lookahead);
    for (size_t t = 0; t < program.tasks.size(); ++t) program.tasks[t].order = std::move(orders[t]);
    ScheduledProgram overlapped = as_ordered(program, problem);
    if (overlapped.arena_bytes() <= limit && overlapped.simulation.seconds < blocking.simulation.seconds)
      return overlapped;
  }
  for (Task& task : program.tasks) task.order = {};
  program.channels = channels;
  return blocking;
}

}  // namespace shardscope
