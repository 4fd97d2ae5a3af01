#include <fmt/format.h>

#include <algorithm>

#include "engine/lint/rules/collective_moves.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

std::vector<Fault> gathered_logits_faults(const LintSubject& subject) {
  const Plan& plan = subject.plan;
  std::vector<Fault> faults;
  for (const CollectiveMove& move : collective_moves(plan)) {
    if (move.kind != InstructionKind::all_gather || move.phase != Phase::forward) continue;
    for (const auto& [name, value] : plan.graph->outputs) {
      if (value != move.value || plan.graph->type(value).shape.empty()) continue;
      if (!faults.empty()) {
        faults.front().seconds += move.seconds;
        continue;
      }
      Fault fault;
      fault.place = "sharding.out";
      fault.message = fmt::format(
          "the model's output '{}' {} is gathered whole from {}, though the loss needs its parts "
          "alone",
          name, to_string(plan.graph->type(value).shape), to_string(move.from, plan.mesh));
      fault.seconds = move.seconds;
      fault.fixes.push_back({spec_setting(plan, "sharding.out", move.from)});
      fault.no_fix = "an output that is sharded as the last product makes it";
      faults.push_back(std::move(fault));
    }
  }
  return faults;
}

}  // namespace

LintRule gathered_logits_rule() {
  return {"gathered_logits", "the model's output is gathered whole", false, gathered_logits_faults};
}

}  // namespace shardscope
