#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/session/messages.h"
#include "engine/session/telemetry.h"

namespace shardscope {

// Reads the telemetry of all ranks of a run and tells what has changed: rank states, and each training step once all
// ranks have finished it.
class Progress {
 public:
  // `metrics`: names, in the plan's order.
  Progress(std::string session_directory, int ranks, std::vector<PlanStepName> plan_steps,
           std::vector<std::string> metrics);

  // RankStateMessages, then StepMessages in step order. Throws Failure when a telemetry file is damaged.
  std::vector<Message> poll();
  // As of the last poll; nothing for a rank that has not made its file yet.
  const std::vector<std::optional<RankStatus>>& statuses() const { return statuses_; }
  int64_t completed_steps() const { return completed_; }

 private:
  struct OpenStep {
    std::vector<std::optional<StepRecord>> records;  // by rank
    std::vector<RankMeasurement> measurements;       // by rank: busy and wait
    std::vector<double> plan_step_ms;                // summed over ranks
    std::vector<int> plan_step_ranks;                // how many ranks measured it
  };

  void read_rank(int rank);
  OpenStep& open_step(int64_t step);
  void add_event(int rank, const StepEvent& event);
  StepMessage close(int64_t step, const OpenStep& open) const;

  std::string session_directory_;
  std::vector<PlanStepName> plan_steps_;
  std::vector<std::string> metrics_;
  std::vector<std::optional<TelemetryReader>> readers_;
  std::vector<std::optional<RankStatus>> statuses_;
  std::vector<std::optional<RankStateMessage>> told_;
  std::map<int64_t, OpenStep> open_;
  int64_t completed_ = 0;
};

}  // namespace shardscope
