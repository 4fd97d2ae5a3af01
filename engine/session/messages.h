#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/plan/expert_load.h"
#include "engine/session/plan_step_names.h"
#include "engine/session/step_times.h"
#include "engine/session/telemetry.h"

namespace shardscope {

// What a client of a run receives, as JSON objects, one a line, each with a "message" key naming its kind: first
// Hello and Snapshot (what happened so far), then the rest as it happens, Finished last; and Steps when it asks for
// them.

struct HelloMessage {
  std::string config_json;  // text of the run file
  uint64_t plan_hash = 0;
  int ranks = 0;
  PlanStepNames plan_steps;
  std::vector<std::string> metrics;  // names, in the plan's order
  std::string machine_json = "";     // of the machine that the plan is made for; empty: not known
  bool operator==(const HelloMessage&) const = default;
};

// A training step that every rank has finished. A metric is NaN where the run computed no number. As JSON each metric
// is a key of its own, and "metrics" lists their names.
struct StepMessage {
  int64_t step = 0;
  std::vector<MetricValue> metrics;    // in the plan's order
  double step_ms = 0;                  // of the slowest rank
  std::vector<RankMeasurement> ranks;  // by rank; empty where no longer kept
  bool operator==(const StepMessage&) const = default;
};

// When each rank did each plan step of one training step. Times count from the first rank's beginning of the step;
// those of ranks of other hosts, whose clocks cannot be compared, from the first of their own host.
struct TraceMessage {
  TraceChoice choice = TraceChoice::latest;
  int64_t step = 0;
  std::vector<std::vector<PlanStepTime>> ranks;  // by rank and position in its main sequence

  double milliseconds() const;  // from 0 to the last rank's end
  bool operator==(const TraceMessage&) const = default;
};

// What the experts of each layer got in one step, a recent one.
struct ExpertsMessage {
  int64_t step = 0;
  std::vector<ExpertLoad> layers;  // in the model's order
  bool operator==(const ExpertsMessage&) const = default;
};

struct RankStateMessage {
  int rank = 0;
  RankState state = RankState::starting;
  int pid = 0;
  bool operator==(const RankStateMessage&) const = default;
};

struct LogMessage {
  static constexpr int supervisor = -2;  // in the place of a rank: what the process that watches the run has to say

  int rank = -1;  // -1: of the launcher, or of no rank in particular
  std::string text;
  bool operator==(const LogMessage&) const = default;
};

struct FailureMessage {
  int rank = -1;        // -1: no rank in particular
  std::string signal;   // "SIGKILL"; empty when none
  std::string last_op;  // name of the plan step the rank was in; empty before the first
  std::string message;  // one sentence for a person
  bool operator==(const FailureMessage&) const = default;
};

// After a failure all ranks are started again: steps from `from_step` on are done anew, and come again.
struct RestartMessage {
  int restart = 1;  // counts from 1
  int64_t from_step = 0;
  FailureMessage failure;
  bool operator==(const RestartMessage&) const = default;
};

enum class RunEnd : uint8_t { finished, stopped, interrupted, failed };
std::string_view name(RunEnd end);

struct FinishedMessage {
  RunEnd end = RunEnd::finished;
  int64_t steps = 0;  // completed
  bool operator==(const FinishedMessage&) const = default;
};

struct SnapshotMessage {
  std::vector<StepMessage> past;     // some of the steps before `steps`, oldest first (DecimatedSteps), without ranks
  std::vector<StepMessage> steps;    // the latest, without gaps
  StepTimes step_times;              // of all steps
  std::vector<TraceMessage> traces;  // one of each choice
  std::optional<ExpertsMessage> experts;
  std::vector<RankStateMessage> ranks;
  std::vector<LogMessage> log;  // the latest lines
  std::vector<RestartMessage> restarts;
  std::optional<FailureMessage> failure;
  bool operator==(const SnapshotMessage&) const = default;
};

// The answer to a request for steps [from, to): those from `from` on, as many as one answer takes, or fewer where the
// run has not done them.
struct StepsMessage {
  int64_t from = 0;
  int64_t to = 0;  // as asked
  std::vector<StepMessage> steps;
  bool operator==(const StepsMessage&) const = default;
};

using Message = std::variant<HelloMessage, SnapshotMessage, StepMessage, TraceMessage, ExpertsMessage, StepsMessage,
                             RankStateMessage, LogMessage, RestartMessage, FailureMessage, FinishedMessage>;

// One line, with its newline.
std::string to_json_line(const Message& message);

// What is accepted of a run. Beyond, a message is refused; of a text that is for a person the beginning is kept.
namespace message_limits {
inline constexpr size_t line_bytes = size_t{128} << 20;
inline constexpr size_t parsed_bytes = size_t{512} << 20;  // json_memory() of a line
inline constexpr size_t config_bytes = size_t{8} << 20;    // of the run file; the machine likewise
inline constexpr size_t text_bytes = 16384;                // of a line of the log, a failure
inline constexpr size_t name_bytes = 4096;                 // of a plan step or a metric
inline constexpr int ranks = 65536;
inline constexpr int64_t steps = int64_t{1} << 53;
inline constexpr size_t snapshot_past = 20000, snapshot_steps = 1000, answer_steps = 1000, snapshot_traces = 16;
inline constexpr size_t log_lines = 10000, restarts = 10000, time_bins = 10000;
inline constexpr size_t expert_layers = 10000, experts = 65536;  // of a layer
}  // namespace message_limits

// What a client may ask: that the run end after the current step, or at once; that it go on when the program that
// started it ends (it answers by keep_note, as the supervisor's log); or for steps [from, to) of the past.
struct Request {
  enum class Kind : uint8_t { stop, kill, steps, keep };
  Kind kind = Kind::stop;
  int64_t from = 0, to = 0;

  static const Request stop, kill, keep;
  static Request steps(int64_t from, int64_t to) { return {Kind::steps, from, to}; }
  bool operator==(const Request&) const = default;
};
inline constexpr Request Request::stop{Kind::stop};
inline constexpr Request Request::kill{Kind::kill};
inline constexpr Request Request::keep{Kind::keep};
inline constexpr std::string_view keep_note = "goes on when the program that started it ends";
std::string to_json_line(const Request& request);  // {"request":"stop"}, {"request":"steps","from":0,"to":1000}

// Throw Failure (code bad_message) for anything but a well-formed line within the limits. Whatever the line is, this
// takes time in proportion to its length, and memory as message_limits say.
Message parse_message(std::string_view line);
Request parse_request(std::string_view line);

// Cuts a stream of bytes into lines, in whatever pieces they come.
class LineBuffer {
 public:
  // Of what people's programs print, by default.
  explicit LineBuffer(size_t longest_line = size_t{1} << 20) : longest_line_(longest_line) {}

  // Throws Failure (code bad_message), dropping the line so far, when a line exceeds the limit. Lines that are whole
  // stay.
  void feed(std::string_view bytes);
  std::optional<std::string> next_line();  // without newline
  std::string rest();                      // what came after the last newline; empties it

 private:
  size_t longest_line_;
  std::string bytes_;
  size_t taken_ = 0;
  size_t searched_ = 0;
  size_t open_ = 0;  // bytes after the last newline
};

// Bytes of a run's socket in, messages out.
class MessageDecoder {
 public:
  explicit MessageDecoder(size_t longest_line = message_limits::line_bytes) : lines_(longest_line) {}

  void feed(std::string_view bytes) { lines_.feed(bytes); }
  // The next whole message. Throws Failure (code bad_message) for a bad line; the following call goes on behind it.
  std::optional<Message> next();

 private:
  LineBuffer lines_;
};

}  // namespace shardscope
