#include "engine/plan/hidden_transfers.h"

#include <algorithm>

#include "engine/graph/casts.h"
#include "engine/plan/blocking_groups.h"

namespace shardscope {
namespace {

struct Hidden {
  int position = 0;
  double seconds = 0;
};

std::vector<TimeSpan> spans_of_pass(const Plan& plan, int stage, bool forward) {
  const std::vector<TimeSpan>& spans = plan.simulation.stages[static_cast<size_t>(stage)];
  const Phase phase = forward ? Phase::forward : Phase::backward;
  std::vector<TimeSpan> found;
  int microbatch = 0;
  for (const TaskRun& run : plan.program.main(stage).runs) {
    const Task& task = plan.program.tasks[static_cast<size_t>(run.task)];
    if (task.phase != phase || task.size() == 0 || (forward && run.microbatch != 0)) continue;
    if (run.microbatch > microbatch) found.clear();
    if (run.microbatch < microbatch) continue;
    microbatch = run.microbatch;
    const auto first = static_cast<size_t>(run.first);
    found.push_back({spans[first].start, spans[first + static_cast<size_t>(task.size()) - 1].end});
  }
  return found;
}

// Makes room where a pass is too short: before it, and behind what begins with the step.
void lengthen(std::vector<TimeSpan>& pass, double missing, bool forward) {
  const double before = forward ? 0 : std::min(missing, pass.front().start);
  pass.front().start -= before;
  pass.back().end += missing - before;
}

void place_transfers(const std::vector<Hidden>& all, std::vector<TimeSpan> pass, bool forward,
                     std::vector<HiddenTransfer>& transfers) {
  double wanted = 0, room = 0;
  for (const Hidden& one : all) wanted += one.seconds;
  if (pass.empty() || wanted <= 0) return;
  for (const TimeSpan& span : pass) room += span.end - span.start;
  if (wanted > room) lengthen(pass, wanted - room, forward);
  auto span = pass.begin();
  double at = span->start;
  for (double idle = forward ? 0 : std::max(0.0, room - wanted); idle > 0;) {
    const double skipped = std::min(idle, span->end - at);
    idle -= skipped;
    at += skipped;
    if (idle <= 0 || std::next(span) == pass.end()) break;
    at = (++span)->start;
  }
  for (const auto& [position, seconds] : all) {
    double left = seconds;
    while (left > 0) {
      const bool is_last = std::next(span) == pass.end();
      const double taken = is_last ? left : std::min(left, span->end - at);
      if (taken > 0) transfers.push_back({position, forward, {at, at + taken}});
      left -= taken;
      at += taken;
      if (left > 0) at = (++span)->start;
    }
  }
}

}  // namespace

double hidden_behind_passes(const Plan& plan, InstructionId start) {
  return plan.hidden_seconds.tasks.empty() ? 0 : plan.hidden_seconds[start];
}

double hidden_behind_passes(const Plan& plan, int stage, int position) {
  return hidden_behind_passes(plan, plan.instructions(stage).id(position));
}

const char* pass_text(bool of_parameters) {
  return of_parameters ? "a forward pass (of the next step's first microbatch)" : "the last microbatch's backward pass";
}

std::vector<HiddenTransfer> transfers_behind_passes(const Plan& plan, int stage) {
  if (plan.hidden_seconds.tasks.empty()) return {};
  const std::vector<bool> of_states = values_of_states(*plan.graph);
  std::vector<Hidden> gradients, parameters;
  for (const TaskRun& run : plan.program.main(stage).runs) {
    const Task& task = plan.program.tasks[static_cast<size_t>(run.task)];
    for (int place = 0; place < task.size(); ++place) {
      const int index = task.order.index(place);
      const double seconds = plan.hidden_seconds[{run.task, index}];
      if (seconds <= 0) continue;
      const CollectiveStart& start = *task.instructions[static_cast<size_t>(index)].as<CollectiveStart>();
      const MovedKind kind = moved_kind(start, Phase::update, plan.program, *plan.graph, of_states);
      (kind == MovedKind::parameters ? parameters : gradients).push_back({run.first + place, seconds});
    }
  }
  std::vector<HiddenTransfer> transfers;
  place_transfers(parameters, spans_of_pass(plan, stage, true), true, transfers);
  place_transfers(gradients, spans_of_pass(plan, stage, false), false, transfers);
  std::ranges::stable_sort(transfers, {}, [](const HiddenTransfer& one) { return one.span.start; });
  return transfers;
}

}  // namespace shardscope
