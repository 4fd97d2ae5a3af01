#include "engine/cli/run_output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "engine/base/printable.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"

namespace shardscope {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds patience = 10s, patience_after_failure = 1s;
constexpr size_t kept_lines = 100, piped_bytes = size_t{64} << 20;
const std::string standard_output = "standard output";

bool ends_by_broken_pipe() {
  struct sigaction action {};
  return ::sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler != SIG_IGN;
}

std::unique_ptr<BoundedOutput> bounded_unless_regular(LiveFile* file) {
  struct stat status {};
  if (!file || ::fstat(::fileno(file->file()), &status) != 0 || S_ISREG(status.st_mode)) return nullptr;
  return std::make_unique<BoundedOutput>(::fileno(file->file()), piped_bytes);
}

TextSink sink_of(LiveFile* file, BoundedOutput* piped) {
  if (piped) return {file->path(), *piped};
  return file ? TextSink(*file) : TextSink();
}

}  // namespace

RunOutput::RunOutput(LiveFile* steps, bool prints_lines)
    : broken_pipe_ends_(ends_by_broken_pipe()),
      steps_are_output_(steps && steps->path() == standard_stream),
      lines_(STDOUT_FILENO),
      errors_(STDERR_FILENO),
      steps_(steps),
      piped_steps_(bounded_unless_regular(steps_)),
      training_(prints_lines ? TextSink(standard_output, lines_) : TextSink(), sink_of(steps_, piped_steps_.get())) {}

bool RunOutput::begin(const Plan& plan) {
  for (const Error& warning : plan.warnings) note("warning: " + to_string(warning));
  return training_.begin(plan);
}

bool RunOutput::take(const Message& message) {
  if (auto* step = std::get_if<StepMessage>(&message)) return training_.step(*step);
  if (auto* line = std::get_if<LogMessage>(&message)) tell(*line);
  if (auto* failure = std::get_if<FailureMessage>(&message)) tell(*failure);
  auto* restart = std::get_if<RestartMessage>(&message);
  return !restart || training_.restart(*restart);
}

void RunOutput::say(const std::string& text) { errors_.put(printable_lines(text) + '\n'); }

void RunOutput::note(const std::string& text) {
  if (!is_quiet()) say(text);
}

void RunOutput::tell(const LogMessage& log) {
  const std::string speaker = fmt::format("rank {}: ", log.rank), text = printable(log.text);
  if (log.rank == LogMessage::supervisor) say(text);
  else if (log.rank < 0) kept_.push_back(text);
  else say((text.starts_with(speaker) ? "" : speaker) + text);
  if (kept_.size() > kept_lines) kept_.pop_front();
}

void RunOutput::tell(const FailureMessage& failure) {
  if (failure.rank < 0) {
    for (const std::string& text : kept_) say(text);
  }
  say(failure.message);
}

bool RunOutput::is_standard_output(const TextSink& sink) const {
  return &sink == (steps_are_output_ ? &training_.steps() : &training_.lines());
}

bool RunOutput::report_problem(TextSink& sink, const OutputLoss& loss, const std::string& name) {
  const int error = sink.put("");
  const bool is_said = is_standard_output(sink) && error == EPIPE && broken_pipe_ends_;
  if (error != 0 && !is_said) say(sink.problem());
  if (error == 0 && loss.bytes > 0) say(loss_text(name, loss));
  return error != 0 || loss.bytes > 0;
}

int RunOutput::finish(int code) {
  const auto waits = code == exit_ok ? patience : patience_after_failure;
  const OutputLoss of_lines = lines_.finish(waits);
  const OutputLoss of_steps = piped_steps_ ? piped_steps_->finish(waits) : OutputLoss{};
  const bool lines_lost = report_problem(training_.lines(), of_lines, standard_output);
  const std::optional<Error> loss = steps_ ? steps_->loss() : std::nullopt;
  if (loss) say(to_string(*loss));
  const bool steps_lost = report_problem(training_.steps(), of_steps, steps_ ? steps_->path() : "") || loss;
  errors_.finish(waits);
  if (code != exit_ok || !(lines_lost || steps_lost)) return code;
  const OutputLoss& of_output = steps_are_output_ ? of_steps : of_lines;
  const bool is_alone = steps_are_output_ || !steps_lost;
  if (of_output.error == EPIPE && is_alone && broken_pipe_ends_) return exit_by_signal + SIGPIPE;
  return exit_failed_run;
}

}  // namespace shardscope
