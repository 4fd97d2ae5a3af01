#include <fmt/format.h>

#include <optional>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/stuck_process.h"

namespace shardscope::faults {

namespace {

// At a moment when others will wait for it elsewhere: not in a collective, nor behind the last plan step, where all
// ranks tell each other of the step.
void hold_amid_a_step(Run& run, std::optional<StuckProcess>& process) {
  for (int round = 0; round < 500; ++round) {
    process.emplace(there(run.rank()));
    if (!process->is_held()) throw Missed{};
    if (run.phase() == Phase::computing && run.is_before_its_last_plan_step()) return;
    process.reset();
    run.run_for(1);
  }
  throw Missed{};
}

// Alive, neither stopped nor held, and it gets no further: the deadline names it.
Fault stuck(const std::string& name, StuckProcess::Way way, const std::string& state) {
  Fault fault;
  fault.name = "a rank that " + name + " for ever";
  fault.phases = {Phase::computing};
  fault.expected = {
      fmt::format("rank %r has made no progress for 2 s in training step .*its process {}.*--deadline training=",
                  state),
      {1}};
  if (!StuckProcess::can_make()) fault.lacks = "a processor of x86-64, or the right to debug";
  fault.prepare = [](Start& start, Random&) { start.arguments = {"--deadline", "training=2"}; };
  fault.inject = [way](Run& run, Random&) {
    std::optional<StuckProcess> process;
    hold_amid_a_step(run, process);
    run.begin_fault();
    if (!process->let_go(way)) throw Missed{};
  };
  return fault;
}

}  // namespace

std::vector<Fault> stuck_ranks() {
  return {stuck("computes", StuckProcess::Way::computes, "is busy .state R."),
          stuck("sleeps", StuckProcess::Way::sleeps, "sleeps .state S.")};
}

}  // namespace shardscope::faults
