#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/session/decimated_steps.h"
#include "engine/session/messages.h"

namespace shardscope {

// Seconds that a plan step took: waiting for peers, then its work or exchange.
struct MeasuredTime {
  double waiting = 0, working = 0;
  double seconds() const { return waiting + working; }
};

// What is known of one run, gathered from its messages: a plain value that views read.
struct RunRecord {
  static constexpr size_t recent_steps = 1000;
  static constexpr int64_t most_detail = 4000;
  using StepRange = std::pair<int64_t, int64_t>;  // from the first, to before the second

  std::optional<HelloMessage> hello;
  std::vector<RankStateMessage> ranks;    // by rank
  std::vector<LogMessage> log;            // the latest lines
  int64_t log_dropped = 0;                // lines before them
  std::optional<ExpertsMessage> experts;  // the latest
  std::vector<RestartMessage> restarts;   // the latest
  std::optional<FailureMessage> failure;
  std::optional<FinishedMessage> finished;
  bool is_over = false;  // nothing of it runs any more

  // A snapshot adds what is not known yet, so a client may come again.
  void add(Message message);

  // The steps from which curves are drawn, ascending: the recent, those of a span that is looked at closely, and of
  // other older ones those that hold an extreme (DecimatedSteps). So the record does not grow with the run.
  std::vector<StepMessage> steps() const;
  const StepMessage* newest() const { return recent_.empty() ? nullptr : &recent_.back(); }
  // Grows whenever steps() changes.
  int64_t steps_received() const { return steps_received_; }
  // Training steps that all ranks have done.
  int64_t completed() const;
  // Looks closely at a span of the past: all its steps, where it has no more than most_detail.
  void look_at(StepRange steps);
  // Steps that are to be asked for: between those that were reported, where a client was sent away and came again, or
  // of the span that is looked at.
  std::optional<StepRange> missing() const;

  // "running"; of a rank that died its signal, and "ended" of one that was running when the run ended.
  std::string state_of(int rank) const;

  // Mean time of the plan step at a position of a stage's main sequence, over its ranks and the traces reported as
  // latest (the first step's, which warms up, left out where there are others); nothing when there is none.
  std::optional<MeasuredTime> plan_step_time(int position, int stage = 0) const;
  // Median of step_ms within 1 %, the first step left out where there are others.
  std::optional<double> median_step_ms() const;
  const TraceMessage* trace(TraceChoice choice) const { return shared_trace(choice).get(); }  // null without
  const std::shared_ptr<const TraceMessage>& shared_trace(TraceChoice choice) const;
  // The newest step's measurement of every rank; empty before the first step.
  const std::vector<RankMeasurement>& measurements() const;
  const RankMeasurement* measurement(int rank) const;  // that rank's; null without
  // True where the record's plan steps are those of `plan`, so that ids mean the same: every view asks at every step.
  bool is_of(const Plan& plan) const;

 private:
  void add_step(const StepMessage& step);
  void add_snapshot(SnapshotMessage snapshot);
  void add_answer(const StepsMessage& answer);
  void add_trace(std::shared_ptr<const TraceMessage> reported);
  void set_rank(const RankStateMessage& rank);
  void add_unknown_log(const std::vector<LogMessage>& reported);
  void bound_log();

  DecimatedSteps past_;             // before the recent
  std::deque<StepMessage> recent_;  // without gaps; the last with its ranks
  int64_t steps_received_ = 0;
  StepTimes step_times_;
  std::optional<StepRange> gap_;                               // not yet reported
  std::optional<StepRange> looked_at_;                         // not yet reported
  std::map<int64_t, StepMessage> looked_over_;                 // of that span, reported
  std::array<std::shared_ptr<const TraceMessage>, 3> traces_;  // by choice
  std::vector<std::vector<MeasuredTime>> plan_step_sums_;      // per stage
  int plan_step_count_ = 0;
  bool only_first_traced_ = true;
  std::optional<LogMessage> last_reported_;
  size_t bounded_lines_ = 0, log_bytes_ = 0;  // of log: lines that are counted, and their bytes
};

}  // namespace shardscope
