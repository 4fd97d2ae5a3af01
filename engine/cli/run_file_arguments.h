#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// FILE, --set PATH=VALUE and --specs JSON, which all subcommands share.
struct RunFileArguments {
  std::string file;
  std::vector<std::string> assignments;
  std::string specs;  // a file of {path: spec}, see engine/export/jax_specs_file.h; empty: none

  void add_to(CLI::App& command, bool file_required = true);

  // The file's config with the assignments applied and then the specs, checked as far as that goes without planning.
  // Paths are absolute: those of the file were relative to its folder, those of assignments to where the program runs.
  // Throws Failure with all errors, each with file, line and path where it has one.
  RunConfig load() const;

  // The files that a run of `config`, which load() gave, reads: no output is written over them.
  std::vector<std::string> inputs(const RunConfig& config) const;
};

}  // namespace shardscope
