#pragma once

#include "tests/fuzz/target.h"

namespace shardscope::fuzz {

// Each in the file of its name.
Target run_files();
Target assignments();
Target linted_runs();  // in lint
Target specs();
Target machines();
Target messages();
Target requests();
Target host_reports();
Target host_links();
Target host_lists();
Target checkpoint_indexes();
Target safetensors();
Target model_configs();   // in model_folders
Target weight_indexes();  // in model_folders

}  // namespace shardscope::fuzz
