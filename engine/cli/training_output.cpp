#include "engine/cli/training_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "engine/session/step_line.h"

namespace shardscope {

TextSink::TextSink(std::string name, std::FILE* file)
    : name_(std::move(name)), print_([file](const std::string& text) {
        return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0 ? 0 : errno;
      }) {}

TextSink::TextSink(std::string name, BoundedOutput& output)
    : name_(std::move(name)), print_([&output](const std::string& text) {
        output.put(text);
        return output.error();
      }) {}

TextSink::TextSink(LiveFile& file)
    : name_(file.path()), print_([&file](const std::string& text) { return file.put(text); }) {}

int TextSink::put(const std::string& text) {
  if (print_ && error_ == 0) error_ = print_(text);
  return error_;
}

std::string TextSink::problem() const {
  return error_ == 0 ? "" : fmt::format("{}: cannot write: {}", name_, std::strerror(error_));
}

bool TrainingOutput::begin(const Plan& plan) {
  progress_ = ProgressText(plan.training.progress, plan.training.steps);
  return lines_.put(opening_lines(plan)) == 0;
}

bool TrainingOutput::step(const StepMessage& step) {
  const bool printed = lines_.put(progress_.after(step)) == 0;
  const bool written = steps_.put(json_line(step)) == 0;
  return printed && written;
}

bool TrainingOutput::restart(const RestartMessage& restart) { return steps_.put(json_line(restart)) == 0; }

}  // namespace shardscope
