#include <fmt/format.h>

#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

std::vector<Fault> costly_zero_faults(const LintSubject& subject) {
  const ZeroConfig& zero = subject.config.sharding.zero;
  if (zero.stage == 0) return {};
  Fault fault;
  fault.place = "sharding.zero.stage";
  fault.message = fmt::format("ZeRO stage {} takes time for memory that the devices have", zero.stage);
  for (int64_t stage = zero.stage; stage-- > 0;) fault.fixes.push_back({fmt::format("sharding.zero.stage={}", stage)});
  return {std::move(fault)};
}

}  // namespace

LintRule costly_zero_rule() {
  return {"costly_zero", "a ZeRO stage that costs more time than its memory is worth", false, costly_zero_faults};
}

}  // namespace shardscope
