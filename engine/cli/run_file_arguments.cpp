#include "engine/cli/run_file_arguments.h"

#include <algorithm>
#include <fstream>
#include <iterator>
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

// A file's config with assignments.
class Assigned {
 public:
  Assigned(const RunConfig& file, const std::vector<std::string>& assignments)
      : file_(file),
        assignments_(assignments),
        known_(assignments.empty() ? std::vector<std::string>() : known_paths(file, assignments)) {}

  RunConfig config() const { return with_first(assignments_.size()); }

  // Takes those errors away that the file alone does not have, and says each of the assignment that brought it.
  std::vector<Error> take_blame(std::vector<Error>& errors) const {
    std::vector<Error> blamed;
    if (assignments_.empty()) return blamed;
    const auto is_older = std::stable_partition(
        errors.begin(), errors.end(),
        [own = validate(file_)](const Error& error) { return std::ranges::find(own, error) != own.end(); });
    for (auto error = is_older; error != errors.end(); ++error) {
      error->where = "--set " + cause_of(*error) + (error->where.empty() ? "" : ": " + error->where);
      blamed.push_back(std::move(*error));
    }
    errors.erase(is_older, errors.end());
    return blamed;
  }

 private:
  RunConfig with_first(size_t count) const {
    if (count == 0) return file_;
    return apply_overrides(file_, {assignments_.begin(), assignments_.begin() + static_cast<std::ptrdiff_t>(count)},
                           known_);
  }

  // The first assignment with which the error is there.
  std::string cause_of(const Error& error) const {
    for (size_t count = 1; count < assignments_.size(); ++count) {
      try {
        const std::vector<Error> errors = validate(with_first(count));
        if (std::ranges::find(errors, error) != errors.end()) return assignments_[count - 1];
      } catch (const Failure&) {
        continue;  // it needs those behind it
      }
    }
    return assignments_.back();
  }

  const RunConfig& file_;
  const std::vector<std::string>& assignments_;
  std::vector<std::string> known_;
};

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
  const Assigned assigned(read.config, assignments);
  RunConfig config = assigned.config();
  if (std::vector<Error> errors = validate(config); !errors.empty()) {
    std::vector<Error> faults = assigned.take_blame(errors);
    std::ranges::move(locate_errors(std::move(errors), text_of(file), file), std::back_inserter(faults));
    throw Failure(faults);
  }
  return config;
}

}  // namespace shardscope
