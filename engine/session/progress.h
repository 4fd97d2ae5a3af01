#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/session/host_report.h"
#include "engine/session/messages.h"

namespace shardscope {

// What the reports on the ranks of a run mean, from however many hosts they come: rank states, each training step once
// all ranks have finished it, and traces once all ranks have reported theirs of the same step.
class Progress {
 public:
  // `metrics`: names, in the plan's order.
  // `plan_steps`: how many each rank does.
  // `experts`: the plan's layers of experts.
  Progress(const std::vector<int>& plan_steps, std::vector<std::string> metrics, std::vector<ExpertLayer> experts = {});

  // RankStateMessages, then StepMessages in step order, then TraceMessages and an ExpertsMessage. Throws Failure
  // (bad_report) for a report that ranks of this run cannot have made, one that leaves out a step among them: no step
  // is missing unnoticed.
  std::vector<Message> take(const HostReport& report);

  // As last reported, by rank.
  const std::vector<RankObservation>& observations() const { return observations_; }
  int64_t completed_steps() const { return completed_; }
  uint64_t signs_of_life() const;  // by all ranks: heartbeats, and phases entered
  bool is_saving() const;          // whether any rank waits for a checkpoint to be written
  int64_t furthest_step() const;   // in which any rank is; -1: none trains yet

 private:
  struct Rank {
    std::optional<RankStateMessage> reported;
    std::deque<StepRecord> steps;  // finished here, not yet everywhere
    std::optional<int64_t> newest;
    int host = 0;  // the first rank of the report that it comes with
    std::array<std::optional<RankTrace>, std::size(trace_choices)> traces;
  };

  void take_steps(Rank& rank, int number, const std::vector<StepRecord>& steps);
  StepMessage close_step();
  void close_trace(TraceChoice choice, std::vector<Message>& messages);

  std::vector<int> plan_steps_;  // by rank
  std::vector<std::string> metrics_;
  std::vector<ExpertLayer> experts_;
  std::vector<RankObservation> observations_;
  std::vector<Rank> ranks_;
  int64_t completed_ = 0;
};

}  // namespace shardscope
