#include "engine/cli/run_file_arguments.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "engine/compile/compile.h"
#include "engine/compile/file_faults.h"
#include "engine/compile/settings.h"
#include "engine/config/parse.h"

namespace shardscope {

namespace {

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
      : file_(file), assignments_(assignments) {}

  RunConfig config() const { return with_first(assignments_.size()); }

  // Takes those errors away that the file alone does not have, and says each of the assignment that brought it.
  std::vector<Error> take_blame(std::vector<Error>& errors) const {
    std::vector<Error> blamed;
    if (assignments_.empty()) return blamed;
    const auto is_older = std::stable_partition(
        errors.begin(), errors.end(),
        [own = validate(file_)](const Error& error) { return std::ranges::find(own, error) != own.end(); });
    for (auto error = is_older; error != errors.end(); ++error) {
      error->place.argument = "--set " + cause_of(*error);
      blamed.push_back(std::move(*error));
    }
    errors.erase(is_older, errors.end());
    return blamed;
  }

 private:
  RunConfig with_first(size_t count) const {
    return with_settings(file_, {assignments_.begin(), assignments_.begin() + static_cast<std::ptrdiff_t>(count)});
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
