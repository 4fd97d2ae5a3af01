#pragma once

#include <filesystem>
#include <string>

#include "engine/config/run_config.h"

namespace shardscope {

// The run file that says `config`, always the same text for the same values: every key that says something in the order
// of the schema, each spec on one line, parameters nested as their paths are. parse_run_config() of it gives `config`
// again. Throws Failure where no file could say it (a number that is not finite, two specs for one parameter).
std::string write_run_config(const RunConfig& config);

// Writes it to a file, as replace_file() does.
void save_run_config(const RunConfig& config, const std::filesystem::path& path);

// Writes a file whole or not at all: to a new file beside it that then takes its place. An existing file keeps its
// permissions, a symbolic link its target; one that may not be written is not replaced. Throws Failure
// (unwritable_file) and leaves nothing behind.
void replace_file(const std::filesystem::path& path, const std::string& text);

}  // namespace shardscope
