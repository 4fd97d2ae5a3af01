#include "engine/lint/rules/parameter_gathers.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

std::vector<Fault> uncontracted_spec_faults(const LintSubject& subject) {
  std::vector<Fault> faults;
  for (const GatheredParameter& gathered : gathered_parameters(subject)) {
    if (!gathered.is_looked_up) faults.push_back(fault_of(subject, gathered));
  }
  return faults;
}

}  // namespace

LintRule uncontracted_spec_rule() {
  return {"uncontracted_spec", "a parameter is split along a dimension that no product keeps split", false,
          uncontracted_spec_faults};
}

}  // namespace shardscope
