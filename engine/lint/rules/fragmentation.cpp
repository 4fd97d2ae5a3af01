#include <fmt/format.h>

#include "engine/base/units.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

constexpr double most_fragmentation = 0.1;       // arenas of the presets are under 6 % fragmented
constexpr int64_t least_unused_bytes = 1 << 20;  // an unused MiB is worth a word

std::vector<Fault> fragmentation_faults(const LintSubject& subject) {
  const PlanTotals& totals = subject.plan.totals;
  const double share = totals.fragmentation();
  const int64_t unused = totals.memory_total - totals.live_lower_bound;
  if (share <= most_fragmentation || unused < least_unused_bytes) return {};
  Fault fault;
  fault.place = "schedule";
  fault.message =
      fmt::format("at its peak {:.0f} % of the arena, {} of {}, is unused between buffers", 100 * share,
                  bytes_text(static_cast<double>(unused)), bytes_text(static_cast<double>(totals.memory_total)));
  fault.bytes = unused;
  fault.no_fix = "another rematerialisation or number of microbatches changes what is held at the peak";
  return {std::move(fault)};
}

}  // namespace

LintRule fragmentation_rule() {
  return {"fragmentation", "more than a tenth of the arena is unused at its peak", true, fragmentation_faults};
}

}  // namespace shardscope
