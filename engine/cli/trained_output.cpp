#include "engine/cli/trained_output.h"

#include <filesystem>

#include "engine/base/standard_streams.h"
#include "engine/checkpoint/array_file.h"
#include "engine/compile/example_plan.h"
#include "engine/worker/parameter_file.h"
#include "engine/worker/predictions.h"

namespace shardscope {

namespace {

// Where parameters are wanted for predictions alone, their file goes when these are made.
std::string parameter_path(const TrainedPaths& paths) {
  if (!paths.parameters.empty()) return std::filesystem::absolute(paths.parameters);
  return std::filesystem::absolute(paths.predictions).string() + ".parameters";
}

}  // namespace

std::string TrainedPaths::gathered() const {
  return parameters.empty() && predictions.empty() ? "" : WholeFile::part_of(parameter_path(*this));
}

std::vector<std::string> TrainedPaths::files() const {
  std::vector<std::string> files;
  for (const std::string& path : {parameters, predictions}) {
    if (!path.empty()) files.insert(files.end(), {path, WholeFile::part_of(path)});
  }
  if (parameters.empty() && !predictions.empty()) files.push_back(gathered());
  return files;
}

TrainedOutput::TrainedOutput(const Plan& plan, TrainedPaths paths, Existing existing, std::vector<std::string> inputs)
    : run_file_(plan.run_file), machine_(plan.machine), paths_(std::move(paths)) {
  if (paths_.parameters == standard_stream) {
    throw Failure(Error{"unwritable_file", "the ranks write their parts of the parameters here, in any order",
                        in_file(paths_.parameters), "the name of a new file"});
  }
  if (paths_.gathered().empty()) return;
  if (!paths_.predictions.empty()) {
    check_predictions(plan.training.data);
    ExportTarget::Options options;
    options.existing = existing;
    options.inputs = inputs;
    predictions_ = std::make_unique<ExportTarget>(paths_.predictions, ExportTarget::Form::file, std::move(options));
  }
  // Parameters for predictions alone never take the path, so what is there is no matter.
  const Existing of_parameters = paths_.parameters.empty() ? Existing::overwrite : existing;
  parameters_ =
      std::make_unique<WholeFile>(parameter_path(paths_), of_parameters, inputs, parameter_layout(plan).bytes());
}

void TrainedOutput::finish() {
  if (!parameters_ || !is_whole_array_file(parameters_->part())) return;
  if (predictions_) {
    predictions_->write(json_lines(predict(example_plan(run_file_, machine_), parameters_->part())));
    predictions_->keep();
  }
  if (!paths_.parameters.empty()) parameters_->keep();
}

}  // namespace shardscope
