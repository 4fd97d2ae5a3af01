#include "engine/cli/training_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "engine/base/standard_streams.h"

namespace shardscope {

bool TrainingOutput::begin(const Plan& plan) {
  for (const Error& warning : plan.warnings) say("warning: " + to_string(warning));
  progress_ = ProgressText(progress_lines(plan.config), plan.config.steps);
  return put(stdout, opening_lines(plan), "standard output");
}

bool TrainingOutput::step(const StepMessage& step) {
  bool printed = put(stdout, progress_.after(step), "standard output");
  bool written = !jsonl_ || put(jsonl_.get(), json_line(step), jsonl_path_);
  return printed && written;
}

bool TrainingOutput::restart(const RestartMessage& restart) {
  return !jsonl_ || put(jsonl_.get(), json_line(restart), jsonl_path_);
}

bool TrainingOutput::put(std::FILE* file, const std::string& text, const std::string& where) {
  if (std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0) return true;
  if (!broken_) say(fmt::format("{}: cannot write: {}", where, std::strerror(errno)));
  broken_ = true;
  return false;
}

}  // namespace shardscope
