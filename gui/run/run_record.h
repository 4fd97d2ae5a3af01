#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/session/messages.h"

namespace shardscope {

// What is known of one run, gathered from its messages: a plain value that views read.
struct RunRecord {
  std::optional<HelloMessage> hello;
  std::vector<StepMessage> steps;
  std::vector<RankStateMessage> ranks;  // by rank
  std::vector<LogMessage> log;
  std::optional<FailureMessage> failure;
  std::optional<FinishedMessage> finished;
  bool is_over = false;  // nothing of it runs any more

  // A snapshot adds what is not known yet, so a watcher may come again.
  void add(const Message& message);

  // Training steps that all ranks have done; `steps` may lack some that came too fast to be read.
  int64_t completed() const;
  // "running"; of a rank that died its signal, and "ended" of one that was running when the run ended.
  std::string state_of(int rank) const;

  // Mean milliseconds of plan step `id` over the steps that tell them (the first, which warms up, left out where
  // there are others); nothing when none does.
  std::optional<double> plan_step_ms(int id) const;
  // Median of step_ms, the first step left out where there are others.
  std::optional<double> median_step_ms() const;
  // The newest step's measurement of every rank; empty before the first step.
  const std::vector<RankMeasurement>& measurements() const;
  const RankMeasurement* measurement(int rank) const;  // that rank's; null without
  // True where the record's plan steps are those of `plan`, so that ids mean the same.
  bool is_of(const Plan& plan) const;

 private:
  void add_step(const StepMessage& step);
  void set_rank(const RankStateMessage& rank);
  void add_unknown_log(const std::vector<LogMessage>& told);

  std::vector<double> first_plan_step_ms_;
  std::vector<double> plan_step_sums_;  // without the first
  int plan_step_count_ = 0;
  std::optional<LogMessage> last_told_;
};

}  // namespace shardscope
