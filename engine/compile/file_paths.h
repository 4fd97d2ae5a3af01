#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// Files that a config names: those of the data section, the model's, and its machine's. In a run file they may be
// relative to its folder; in a program they are absolute, so that a config means the same wherever it is read again (by
// the ranks, say).

RunConfig with_absolute_paths(RunConfig config, const std::filesystem::path& folder);
// For a file that is written to `folder`: what is there or below is named from there, and in the folder of the file
// that the config is from what that one named from there, as it did ("../models/gpt2").
RunConfig with_relative_paths(RunConfig config, const std::filesystem::path& folder);

// The files and folders that the data section names, as it names them; and the config with others in their place.
std::vector<std::string> data_paths(const RunConfig& config);
RunConfig with_data_paths(RunConfig config, const std::function<std::string(const std::string& path)>& change);

// The same with those of the model's description as well: all that a run needs elsewhere.
RunConfig with_named_paths(RunConfig config, const std::function<std::string(const std::string& path)>& change);

// What planning and training a config read: its data, the model's files, and the file of its machine (of this host's,
// where it names none).
std::vector<std::string> input_paths(const RunConfig& config);

// The config for another machine: a name or a file (find_machine()), relative to where the program runs.
RunConfig with_machine(RunConfig config, const std::string& name);

// load_run_config() with absolute paths.
RunConfig load_run_file(const std::filesystem::path& path);

}  // namespace shardscope
