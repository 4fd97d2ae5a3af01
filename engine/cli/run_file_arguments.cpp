#include "engine/cli/run_file_arguments.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "engine/compile/compile.h"
#include "engine/compile/file_faults.h"
#include "engine/config/override.h"
#include "engine/config/parse.h"

namespace shardscope {

namespace {

// What may be set beyond what the config names already.
std::vector<std::string> further_paths(const RunConfig& config) {
  std::vector<std::string> named = config_paths(config), paths = settable_paths(config);
  std::erase_if(paths,
                [&](const std::string& path) { return std::find(named.begin(), named.end(), path) != named.end(); });
  return paths;
}

// Parameters' names follow from the model's hyperparameters, so those are set before asking which paths exist.
std::vector<std::string> known_paths(const RunConfig& config, const std::vector<std::string>& assignments) {
  std::vector<std::string> of_file = further_paths(config), of_model;
  for (const std::string& assignment : assignments) {
    if (assignment.starts_with("model.")) of_model.push_back(assignment);
  }
  if (of_model.empty()) return of_file;
  try {
    return further_paths(apply_overrides(config, of_model, of_file));
  } catch (const Failure&) {
    return of_file;  // the same faults are found again, with all others, when all is applied
  }
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

void RunFileArguments::add_to(CLI::App& command, bool file_required) {
  command.add_option("FILE", file, "run file (JSON)")->required(file_required);
  command.add_option("--set", assignments, "change a value of the run file: mesh.data=2, model.num_layers=3")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

RunConfig RunFileArguments::load() const {
  ReadRunFile read = read_run_file(file);
  if (!read.errors.empty()) throw Failure(all_faults(read, file));
  RunConfig config = std::move(read.config);
  if (!assignments.empty()) config = apply_overrides(config, assignments, known_paths(config, assignments));
  if (std::vector<Error> errors = validate(config); !errors.empty()) {
    throw Failure(locate_errors(std::move(errors), text_of(file), file));
  }
  return config;
}

}  // namespace shardscope
