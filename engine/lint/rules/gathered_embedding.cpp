#include "engine/lint/rules/parameter_gathers.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

std::vector<Fault> gathered_embedding_faults(const LintSubject& subject) {
  std::vector<Fault> faults;
  for (const GatheredParameter& gathered : gathered_parameters(subject)) {
    if (gathered.is_looked_up) faults.push_back(fault_of(subject, gathered));
  }
  return faults;
}

}  // namespace

LintRule gathered_embedding_rule() {
  return {"gathered_embedding", "an embedding is gathered whole to look up a few of its rows", false,
          gathered_embedding_faults};
}

}  // namespace shardscope
