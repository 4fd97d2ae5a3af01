#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "engine/session/decimated_steps.h"
#include "engine/session/messages.h"
#include "engine/session/step_file.h"

namespace shardscope {

// What has happened in a run, for clients that come late: in memory of a size that does not grow with the run, and all
// steps on disk.
class RunHistory {
 public:
  static constexpr size_t recent_steps = 50;
  static constexpr size_t steps_an_answer = 50;
  static constexpr size_t log_lines = 1000;
  static constexpr size_t log_bytes = 256 << 10;  // of all lines
  static constexpr size_t line_bytes = 4096;      // of one; what is longer is cut

  // Throws Failure (session_file).
  RunHistory(const std::string& directory, HelloMessage hello);

  // What clients are sent. Returns what is to be reported besides: that the disk has failed, once; all else goes on.
  std::optional<LogMessage> add(const Message& message);

  // The lines for a client that has just come: Hello, Snapshot, and Finished after the end. The snapshot takes no more
  // than half of what a client accepts: where there are very many ranks, those of older steps are left out, and traces.
  std::string greeting() const;
  // The first steps of [from, to), no more than an answer takes, nor than half of what a client accepts.
  StepsMessage steps(int64_t from, int64_t to) const;

  const std::optional<FailureMessage>& failure() const { return failure_; }

 private:
  std::optional<LogMessage> add_step(const StepMessage& step);
  void add_log(LogMessage log);
  std::vector<StepMessage> newest_steps() const;

  HelloMessage hello_;
  std::unique_ptr<StepFile> file_;  // null once the disk has failed
  DecimatedSteps past_;             // without the recent
  std::deque<StepMessage> recent_;
  StepTimes step_times_;
  std::array<std::optional<TraceMessage>, 3> traces_;  // by choice
  std::optional<ExpertsMessage> experts_;
  std::vector<RankStateMessage> ranks_;
  std::deque<LogMessage> log_;
  size_t logged_bytes_ = 0;
  std::vector<RestartMessage> restarts_;
  std::optional<FailureMessage> failure_;
  std::optional<FinishedMessage> finished_;
};

}  // namespace shardscope
