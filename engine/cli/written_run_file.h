#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/config/run_config.h"

namespace shardscope {

// Writes a config as a new run file, with paths that are relative to its folder; "-" and devices get it with paths that
// are relative to `printed_folder`, or as the config has them. Throws Failure (file_exists, unwritable_file).
void write_run_file(const RunConfig& config, const std::string& out,
                    const std::optional<std::filesystem::path>& printed_folder = {});

// Throws Failure (bad_argument) where --write would print the run file beside a result that --json prints.
void refuse_two_documents(bool as_json, const std::string& out);

}  // namespace shardscope
