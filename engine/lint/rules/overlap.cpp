#include <fmt/format.h>

#include <algorithm>

#include "engine/base/units.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

std::vector<Fault> overlap_faults(const LintSubject& subject) {
  if (subject.config.schedule.overlap != OverlapMode::off) return {};
  const double exposed = subject.plan.simulation.most_exposed();
  if (exposed == 0) return {};
  Fault fault;
  fault.place = "schedule.overlap";
  fault.message = fmt::format("devices wait {} a step for collectives, which overlap may hide", seconds_text(exposed));
  fault.seconds = exposed;
  fault.fixes.push_back({"schedule.overlap=auto"});
  return {std::move(fault)};
}

}  // namespace

LintRule overlap_rule() {
  return {"overlap", "collectives could run beside computation, and the run file forbids it", false, overlap_faults};
}

}  // namespace shardscope
