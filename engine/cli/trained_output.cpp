#include "engine/cli/trained_output.h"

#include <filesystem>

#include "engine/base/error.h"
#include "engine/checkpoint/array_file.h"
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

TrainedOutput::TrainedOutput(const Plan& plan, TrainedPaths paths, Existing existing, std::vector<std::string> inputs)
    : config_(plan.config), profile_(plan.profile), paths_(std::move(paths)) {
  if (paths_.gathered().empty()) return;
  if (!paths_.predictions.empty()) {
    check_predictions(config_);
    predictions_ = open_output(paths_.predictions, existing, inputs);
    inputs.push_back(paths_.predictions);
  }
  parameters_ = std::make_unique<WholeFile>(parameter_path(paths_), existing, inputs, parameter_layout(plan).bytes());
}

void TrainedOutput::finish() {
  if (!parameters_ || !is_whole_array_file(parameters_->part())) return;
  if (predictions_) {
    const std::string text = json_lines(predict(config_, profile_, parameters_->part()));
    if (std::fwrite(text.data(), 1, text.size(), predictions_.get()) != text.size() ||
        std::fflush(predictions_.get()) != 0) {
      throw Failure(Error{"unwritable_file", "cannot write all of it", in_file(paths_.predictions), ""});
    }
    if (const auto removed = removal(predictions_.get(), paths_.predictions)) throw Failure(*removed);
  }
  if (!paths_.parameters.empty()) parameters_->keep();
}

}  // namespace shardscope
