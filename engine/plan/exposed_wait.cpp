#include "engine/plan/exposed_wait.h"

#include <algorithm>

#include "engine/graph/casts.h"
#include "engine/plan/blocking_groups.h"
#include "engine/program/dependencies.h"

namespace shardscope {
namespace {

// The key of a run file that says whether a stack lets such a collective run beside computation.
const char* overlap_key(const CollectiveStart& start, Phase phase, const Plan& plan) {
  switch (moved_kind(start, phase, plan.program, *plan.graph, values_of_states(*plan.graph))) {
    case MovedKind::gradients: return "stack.overlap.gradients";
    case MovedKind::parameters: return "stack.overlap.parameters";
    case MovedKind::activations: break;
  }
  return start.kind == InstructionKind::collective_permute ? "stack.overlap.context" : "stack.overlap.tensor";
}

// What of a task an instruction reaches along its dependencies: of what it depends on, or of what depends on it.
std::vector<bool> reached(const std::vector<Dependency>& dependencies, size_t instructions, int from, bool backwards) {
  std::vector<std::vector<int>> next(instructions);
  for (const Dependency& one : dependencies) {
    const auto [start, end] = backwards ? std::pair(one.behind, one.before) : std::pair(one.before, one.behind);
    next[static_cast<size_t>(start)].push_back(end);
  }
  std::vector<bool> is_reached(instructions);
  std::vector<int> open{from};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (const int other : next[static_cast<size_t>(at)]) {
      if (is_reached[static_cast<size_t>(other)]) continue;
      is_reached[static_cast<size_t>(other)] = true;
      open.push_back(other);
    }
  }
  return is_reached;
}

}  // namespace

std::optional<ExposedWait> exposed_wait(const Plan& plan, int stage, int position) {
  const SequenceInstructions steps = plan.instructions(stage);
  const int start = steps.start_of(position), done = steps.done_of(start);
  const CollectiveStart* collective = steps[start].as<CollectiveStart>();
  const TimeSpan wait = plan.simulation.stages[static_cast<size_t>(stage)][static_cast<size_t>(done)];
  if (!collective || wait.end <= wait.start) return std::nullopt;
  ExposedWait exposed;
  exposed.seconds = wait.end - wait.start;
  exposed.transfer = plan.seconds(start, stage);
  const std::vector<TransferSpan>& transfers = plan.simulation.transfers[static_cast<size_t>(stage)];
  const auto transfer = std::ranges::find(transfers, start, &TransferSpan::position);
  if (transfer != transfers.end()) exposed.stream = plan.simulation.streams[static_cast<size_t>(transfer->stream)];
  const bool is_level = std::ranges::count(plan.machine.levels, exposed.stream, &Level::name) > 0;
  if (is_level && !find_overlap(plan.machine, "compute", exposed.stream)) exposed.setting = "machine.overlap";
  else if (!is_level && !plan.stack.runs_here()) exposed.setting = overlap_key(*collective, steps[start].phase, plan);

  const int task = steps.id(start).task;
  const std::vector<Dependency> dependencies = Dependencies(plan.program, *plan.graph).of(task);
  const size_t count = steps.task(start).instructions.size();
  const std::vector<bool> before = reached(dependencies, count, steps.id(start).index, true),
                          behind = reached(dependencies, count, steps.id(done).index, false);
  double longest = 0;
  const int first = run_at(plan.program.main(stage), start).first;
  for (int at = first; at < first + static_cast<int>(count); ++at) {
    const auto index = static_cast<size_t>(steps.id(at).index);
    if (before[index] && at < start) exposed.operand = at;
    else if (behind[index] && at > done && exposed.user < 0) exposed.user = at;
    else if (!before[index] && !behind[index] && steps[at].as<Compute>()) {
      const double seconds = plan.seconds(at, stage);
      exposed.independent += seconds;
      if (seconds > longest) {
        longest = seconds;
        exposed.longest = at;
      }
    }
  }
  return exposed;
}

}  // namespace shardscope
