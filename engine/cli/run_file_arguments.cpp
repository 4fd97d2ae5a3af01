#include "engine/cli/run_file_arguments.h"

#include <algorithm>
#include <iterator>

#include "engine/base/standard_streams.h"
#include "engine/compile/compile.h"
#include "engine/compile/file_faults.h"
#include "engine/compile/file_paths.h"
#include "engine/compile/settings.h"
#include "engine/config/parse.h"
#include "engine/config/read_file.h"
#include "engine/export/jax_specs_file.h"

namespace shardscope {

namespace {

// A file's config with assignments.
class Assigned {
 public:
  Assigned(const RunConfig& file, const std::vector<std::string>& assignments)
      : file_(file), assignments_(assignments) {}

  RunConfig config() const { return with_first(assignments_.size()); }

  // Takes those errors away that the file alone does not have, and says each of the assignment that brought it.
  std::vector<Error> take_blame(std::vector<Error>& errors) const {
    const std::vector<Error> own = validate(file_);
    std::vector<Error> blamed;
    for (size_t count = 1; count <= assignments_.size(); ++count) {
      const std::vector<Error> with = faults_with_first(count, errors);
      std::erase_if(errors, [&](const Error& error) {
        const bool brought =
            std::ranges::find(with, error) != with.end() &&
            (std::ranges::find(own, error) == own.end() || sets(assignments_[count - 1], error.place.path));
        if (!brought) return false;
        blamed.push_back(error);
        blamed.back().place.argument = "--set " + assignments_[count - 1];
        return true;
      });
    }
    return blamed;
  }

 private:
  RunConfig with_first(size_t count) const {
    const auto end = assignments_.begin() + static_cast<std::ptrdiff_t>(count);
    return with_absolute_paths(with_settings(file_, {assignments_.begin(), end}), ".");
  }

  // All of them together have `all`.
  std::vector<Error> faults_with_first(size_t count, const std::vector<Error>& all) const {
    if (count == assignments_.size()) return all;
    try {
      return validate(with_first(count));
    } catch (const Failure&) {
      return {};  // it needs those behind it
    }
  }

  static bool sets(const std::string& assignment, const std::string& path) {
    return is_inside(path, assignment.substr(0, assignment.find('=')));
  }

  const RunConfig& file_;
  const std::vector<std::string>& assignments_;
};

// Whether an error's place is of an assignment to the path, or to a value in it.
bool speaks_of(const std::string& argument, const std::string& path) {
  const std::string set = "--set " + path;
  return argument.starts_with(set) && (argument.size() == set.size() ||
                                       std::string_view("=.[").find(argument[set.size()]) != std::string_view::npos);
}

}  // namespace

void RunFileArguments::add_to(CLI::App& command, bool file_required) {
  command.add_option("FILE", file, "run file (JSON), or - for standard input")->required(file_required);
  command.add_option("--set", assignments, "change a value of the run file: `mesh.data=2`, `model.num_layers=3`")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--specs", specs,
                  "shard arrays as this file of {path: spec} says, which `export --to specs` and `--write-specs` of "
                  "exported JAX programs write")
      ->type_name("JSON");
}

void RunFileArguments::assign(const std::string& path, const std::string& value, std::string typed) {
  assignments.push_back(path + "=" + value);
  typed_.emplace_back(path, std::move(typed));
}

RunConfig RunFileArguments::load() const {
  try {
    return read();
  } catch (const Failure& failure) {
    std::vector<Error> errors = failure.errors();
    for (Error& error : errors) {
      const auto said = std::find_if(typed_.rbegin(), typed_.rend(),
                                     [&](const auto& one) { return speaks_of(error.place.argument, one.first); });
      if (said != typed_.rend()) error.place.argument = said->second;
    }
    throw Failure(errors);
  }
}

RunConfig RunFileArguments::read() const {
  if (!read_) {
    ReadRunFile read = read_run_file(file);
    read.config = with_absolute_paths(std::move(read.config), std::filesystem::path(file).parent_path());
    read_ = std::make_shared<const ReadRunFile>(std::move(read));
  }
  if (!read_->errors.empty()) throw Failure(all_faults(*read_, file));
  const Assigned assigned(read_->config, assignments);
  RunConfig config = assigned.config();
  if (std::vector<Error> errors = validate(config); !errors.empty()) {
    std::vector<Error> faults = assigned.take_blame(errors);
    std::ranges::move(locate_errors(std::move(errors), read_->text, file), std::back_inserter(faults));
    throw Failure(faults);
  }
  return specs.empty() ? config : with_specs(config, read_file(specs), specs);
}

PlanRequest RunFileArguments::request(const RunConfig& config) const {
  try {
    return plan_request(config);
  } catch (const Failure& failure) {
    const bool is_of_file = read_ && read_->config.machine == config.machine && read_->config.stack == config.stack;
    throw Failure(is_of_file ? located(failure.errors()) : failure.errors());
  }
}

std::vector<Error> RunFileArguments::located(std::vector<Error> errors) const {
  return read_ ? locate_errors(std::move(errors), read_->text, file) : errors;
}

std::vector<std::string> RunFileArguments::inputs(const RunConfig& config) const {
  std::vector<std::string> paths = input_paths(config);
  for (const std::string& path : {file, specs}) {
    if (!path.empty()) paths.push_back(path == standard_stream ? "/dev/stdin" : path);
  }
  return paths;
}

}  // namespace shardscope
