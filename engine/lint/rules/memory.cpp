#include <fmt/format.h>

#include <ranges>

#include "engine/base/units.h"
#include "engine/config/run_file_keys.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

std::vector<Fault> memory_faults(const LintSubject& subject) {
  const int64_t needed = subject.plan.totals.device_bytes, limit = subject.plan.memory_limit_bytes;
  if (limit == 0 || needed <= limit) return {};
  Fault fault;
  fault.place = subject.config.sharding.memory_limit_mib ? "sharding.memory_limit_mib" : "schedule.rematerialise";
  const auto [more, less] = compared_bytes(double(needed), double(limit));
  fault.message = fmt::format("the heaviest device needs {} and has {}", more, less);
  fault.bytes = needed - limit;
  const ScheduleConfig& schedule = subject.config.schedule;
  if (subject.config.trains()) {
    if (schedule.rematerialise == "none") {
      for (const std::string& policy : run_file::rematerialise_policies() | std::views::drop(1))
        fault.fixes.push_back({fmt::format("schedule.rematerialise={}", policy)});
    } else if (schedule.rematerialise != "full") {
      fault.fixes.push_back({"schedule.rematerialise=full"});
    }
    for (int64_t stage = subject.config.sharding.zero.stage + 1; stage <= 3; ++stage)
      fault.fixes.push_back({fmt::format("sharding.zero.stage={}", stage)});
  }
  for (int64_t factor = 2; factor <= 64; factor *= 2)
    fault.fixes.push_back({fmt::format("schedule.microbatches={}", schedule.microbatches * factor)});
  fault.no_fix = "more devices, a smaller batch, or a machine with more memory";
  return {std::move(fault)};
}

}  // namespace

LintRule memory_rule() { return {"memory", "the plan needs more memory than a device has", true, memory_faults}; }

}  // namespace shardscope
