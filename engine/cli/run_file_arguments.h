#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/config/run_config.h"

namespace shardscope {

// FILE, --set PATH=VALUE and --specs JSON, which all subcommands share. FILE is read once.
struct RunFileArguments {
  std::string file;  // "-": standard input
  std::vector<std::string> assignments;
  std::string specs;  // a file of {path: spec}, see engine/export/jax_specs_file.h; empty: none

  void add_to(CLI::App& command, bool file_required = true);
  // An assignment that the user has typed as something else, which errors then name: "--steps abc".
  void assign(const std::string& path, const std::string& value, std::string typed);

  // The file's config with the assignments applied and then the specs, checked as far as that goes without planning.
  // Paths are absolute: those of the file were relative to its folder, those of assignments to where the program runs.
  // Throws Failure with all errors, each with file, line and path where it has one.
  RunConfig load() const;

  // What compile() makes the plan of. Throws Failure as plan_request(), located in FILE where the fault is of the file.
  PlanRequest request(const RunConfig& config) const;
  // Faults of values that FILE has, where they are in it.
  std::vector<Error> located(std::vector<Error> errors) const;

  // The files that a run of `config`, which load() gave, reads: no output is written over them.
  std::vector<std::string> inputs(const RunConfig& config) const;

 private:
  RunConfig read() const;

  mutable std::shared_ptr<const ReadRunFile> read_;
  std::vector<std::pair<std::string, std::string>> typed_;  // path and what stands for "--set PATH"
};

}  // namespace shardscope
