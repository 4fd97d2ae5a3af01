#include "engine/plan/scheduled_program.h"

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

#include "engine/plan/memory_plan.h"
#include "engine/plan/overlap_schedule.h"

namespace shardscope {

namespace {

Simulation simulated(Program& program, const ScheduleProblem& problem) {
  return simulate_with_room(program, problem.graph, problem.mesh, program.main().purpose, problem.seconds,
                            problem.streams, problem.totals_only);
}

std::vector<ArenaLayout> arenas_of(const Program& program, const ScheduleProblem& problem) {
  const auto plan = problem.packs ? plan_memory : plan_memory_unpacked;
  std::vector<ArenaLayout> arenas;
  for (int stage = 0; stage < program.stages; ++stage)
    arenas.push_back(plan(program, problem.graph, problem.threads, stage));
  return arenas;
}

// Those who want totals alone make many plans at a time, and others wait for one, so that its memory is planned
// meanwhile, where that needs no room of channels. Nothing where it takes `limit` seconds or more.
std::optional<ScheduledProgram> overlapped(Program& program, const ScheduleProblem& problem, double limit) {
  std::future<Simulation> simulation;
  std::vector<ArenaLayout> arenas;
  if (!problem.totals_only && program.channels.empty()) {
    simulation = std::async(std::launch::async, [&] { return simulated(program, problem); });
    arenas = arenas_of(program, problem);
  }
  Simulation known = simulation.valid() ? simulation.get() : simulated(program, problem);
  if (known.seconds >= limit) return {};
  if (arenas.empty()) arenas = arenas_of(program, problem);
  return ScheduledProgram{std::move(arenas), std::move(known)};
}

// A program in blocking form. Its arenas are planned when they are asked for.
class Blocking {
 public:
  Blocking(Program& program, const ScheduleProblem& problem) : program_(program), problem_(problem) {
    simulation_ = simulated(program, problem);
    channels_ = program.channels;
  }

  double seconds() const { return simulation_.seconds; }
  // Of the program as it was, whatever its orders are.
  int64_t arena_bytes() {
    if (!arenas_) {
      std::vector<IssueOrder> orders = take_orders();
      std::vector<StageChannel> channels = std::exchange(program_.channels, channels_);
      arenas_ = arenas_of(program_, problem_);
      for (size_t t = 0; t < orders.size(); ++t) program_.tasks[t].order = std::move(orders[t]);
      program_.channels = std::move(channels);
    }
    return largest_arena_bytes(*arenas_);
  }
  ScheduledProgram restored() {
    arena_bytes();
    take_orders();
    program_.channels = channels_;
    return {*std::move(arenas_), std::move(simulation_)};
  }

 private:
  std::vector<IssueOrder> take_orders() {
    std::vector<IssueOrder> orders;
    for (Task& task : program_.tasks) orders.push_back(std::exchange(task.order, {}));
    return orders;
  }

  Program& program_;
  const ScheduleProblem& problem_;
  std::vector<StageChannel> channels_;
  Simulation simulation_;
  std::optional<std::vector<ArenaLayout>> arenas_;
};

}  // namespace

int64_t ScheduledProgram::arena_bytes() const { return largest_arena_bytes(arenas); }

ScheduledProgram schedule(Program& program, const ScheduleProblem& problem) {
  Blocking blocking(program, problem);
  if (problem.overlap == OverlapMode::off || !problem.streams.may_hide_communication()) return blocking.restored();
  const int64_t known = problem.memory_limit_bytes;
  // Where blocking form does not fit either, any does.
  const auto fits = [&](int64_t bytes) {
    return bytes <= known || bytes <= blocking.arena_bytes() || (known > 0 && blocking.arena_bytes() > known);
  };
  for (double lookahead : {longest_lookahead, 1.0, 0.5, 0.0}) {
    std::vector<IssueOrder> orders =
        overlapped_orders(program, problem.graph, problem.seconds, problem.streams, lookahead);
    for (size_t t = 0; t < program.tasks.size(); ++t) program.tasks[t].order = std::move(orders[t]);
    std::optional<ScheduledProgram> beside = overlapped(program, problem, blocking.seconds());
    if (beside && fits(beside->arena_bytes())) return *std::move(beside);
  }
  return blocking.restored();
}

}  // namespace shardscope
