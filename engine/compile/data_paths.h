#pragma once

#include <filesystem>

#include "engine/config/run_config.h"

namespace shardscope {

// Files that the data section names. In a run file they may be relative to its folder; in a program they are absolute,
// so that a config means the same wherever it is read again (by the ranks, say).

RunConfig with_absolute_paths(RunConfig config, const std::filesystem::path& folder);
// For a file that is written to `folder`: what lies there or below is named from there.
RunConfig with_relative_paths(RunConfig config, const std::filesystem::path& folder);

// load_run_config() with absolute paths.
RunConfig load_run_file(const std::filesystem::path& path);

}  // namespace shardscope
