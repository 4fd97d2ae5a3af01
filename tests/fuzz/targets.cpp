#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

std::vector<Target> all_targets() {
  return {run_files(),          assignments(), linted_runs(),   specs(),         machines(),
          messages(),           requests(),    host_lists(),    host_reports(),  host_links(),
          checkpoint_indexes(), safetensors(), model_configs(), weight_indexes()};
}

}  // namespace shardscope::fuzz
