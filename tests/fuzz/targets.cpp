#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

std::vector<Target> all_targets() {
  return {run_files(), assignments(), specs(), profiles(), messages(), requests(), host_reports()};
}

}  // namespace shardscope::fuzz
