#include "engine/cli/training_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "engine/base/error.h"

namespace shardscope {

TrainingOutput::TrainingOutput(const std::string& jsonl_path) : jsonl_path_(jsonl_path) {
  if (jsonl_path.empty()) return;
  jsonl_.reset(std::fopen(jsonl_path.c_str(), "we"));
  if (!jsonl_) {
    throw Failure(Error{"unwritable_file", fmt::format("cannot write: {}", std::strerror(errno)), jsonl_path, ""});
  }
}

bool TrainingOutput::begin(const Plan& plan) {
  for (const Error& warning : plan.warnings) fmt::print(stderr, "warning: {}\n", to_string(warning));
  progress_ = ProgressText(progress_lines(plan.config), plan.config.steps);
  return put(stdout, opening_lines(plan), "standard output");
}

bool TrainingOutput::step(const StepMessage& step) {
  bool printed = put(stdout, progress_.after(step), "standard output");
  bool written = !jsonl_ || put(jsonl_.get(), json_line(step), jsonl_path_);
  return printed && written;
}

bool TrainingOutput::put(std::FILE* file, const std::string& text, const std::string& where) {
  if (std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0) return true;
  if (!broken_) fmt::print(stderr, "{}: cannot write: {}\n", where, std::strerror(errno));
  broken_ = true;
  return false;
}

}  // namespace shardscope
