#pragma once

#include <string>

#include "engine/config/run_config.h"

namespace shardscope {

// The config with mesh axis `from` called `to` everywhere: in the mesh and in every spec, constraint and rule that
// names it. Logical dimension names are not mesh axes and stay. `to` is not judged: the checks of the whole do that.
RunConfig rename_axis(const RunConfig& config, const std::string& from, const std::string& to);

}  // namespace shardscope
