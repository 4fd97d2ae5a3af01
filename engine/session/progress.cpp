#include "engine/session/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/session/rank_words.h"

namespace shardscope {

namespace {

[[noreturn]] void refuse_report(int rank, const std::string& what) {
  throw Failure(Error{"bad_report", what, on_rank(rank), ""});
}

}  // namespace

Progress::Progress(const std::vector<int>& plan_steps, std::vector<std::string> metrics,
                   std::vector<ExpertLayer> experts)
    : plan_steps_(plan_steps),
      metrics_(std::move(metrics)),
      experts_(std::move(experts)),
      observations_(plan_steps.size()),
      ranks_(plan_steps.size()) {}

std::vector<Message> Progress::take(const HostReport& report) {
  std::vector<Message> messages;
  std::optional<ExpertsMessage> experts;
  for (const RankReport& seen : report.ranks) {
    if (seen.rank < 0 || seen.rank >= static_cast<int>(ranks_.size()))
      refuse_report(seen.rank, "there is no such rank");
    Rank& rank = ranks_[seen.rank];
    rank.host = report.ranks.front().rank;
    observations_[seen.rank] = seen.observation;
    take_steps(rank, seen.rank, seen.steps);
    for (const auto& [choice, trace] : seen.traces) {
      if (std::ssize(trace.times) != plan_steps_[static_cast<size_t>(seen.rank)])
        refuse_report(seen.rank, "a trace is not of this plan");
      rank.traces[static_cast<size_t>(choice)] = trace;
    }
    if (seen.load) {
      if (seen.load->numbers.size() != load_numbers(experts_)) refuse_report(seen.rank, "a load is not of this plan");
      experts = {seen.load->step, expert_loads(experts_, seen.load->numbers)};
    }
    if (!seen.observation.status) continue;
    const RankStateMessage state{seen.rank, seen.observation.status->state, seen.observation.status->pid};
    if (rank.reported == state) continue;
    rank.reported = state;
    messages.push_back(state);
  }
  while (std::ranges::none_of(ranks_, [](const Rank& rank) { return rank.steps.empty(); })) {
    messages.push_back(close_step());
  }
  for (TraceChoice choice : trace_choices) close_trace(choice, messages);
  if (experts) messages.emplace_back(std::move(*experts));
  return messages;
}

void Progress::take_steps(Rank& rank, int number, const std::vector<StepRecord>& steps) {
  for (const StepRecord& record : steps) {
    if (record.measured.rank != number) refuse_report(number, "holds another rank's steps");
    if (rank.newest && record.step != *rank.newest + 1) {
      refuse_report(number, fmt::format("step {} follows step {}", record.step, *rank.newest));
    }
    rank.newest = record.step;
    rank.steps.push_back(record);
  }
}

uint64_t Progress::signs_of_life() const {
  uint64_t signs = 0;
  for (const RankObservation& observation : observations_) {
    signs += static_cast<uint64_t>(phase_of(observation)) + (observation.status ? observation.status->heartbeat : 0);
  }
  return signs;
}

bool Progress::is_saving() const {
  return std::ranges::any_of(observations_, [](const RankObservation& rank) {
    return !has_ended(rank) && phase_of(rank) == RankPhase::saving;
  });
}

int64_t Progress::furthest_step() const {
  int64_t furthest = -1;
  for (const RankObservation& observation : observations_)
    furthest = std::max(furthest, observation.status ? observation.status->training_step : -1);
  return furthest;
}

StepMessage Progress::close_step() {
  StepMessage message;
  const StepRecord& first = ranks_.front().steps.front();
  message.step = first.step;
  message.metrics = with_names(metrics_, first.metrics);
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    const StepRecord& record = ranks_[rank].steps.front();
    if (record.step != message.step) {
      refuse_report(static_cast<int>(rank),
                    fmt::format("is at step {} where rank 0 is at step {}", record.step, message.step));
    }
    message.step_ms = std::max(message.step_ms, record.step_ms);
    message.ranks.push_back(record.measured);
  }
  for (Rank& rank : ranks_) rank.steps.pop_front();
  completed_ = message.step + 1;
  return message;
}

void Progress::close_trace(TraceChoice choice, std::vector<Message>& messages) {
  const auto of = [choice](auto& rank) -> auto& { return rank.traces[static_cast<size_t>(choice)]; };
  TraceMessage message{choice, 0, {}};
  std::map<int, int64_t> zero;  // of each host's clock
  for (const Rank& rank : ranks_) {
    const std::optional<RankTrace>& trace = of(rank);
    if (!trace || trace->step != of(ranks_.front())->step) return;
    const int64_t begin = trace->times.empty() ? 0 : trace->times.front().arrive_ns;
    const auto known = zero.try_emplace(rank.host, begin).first;
    known->second = std::min(known->second, begin);
  }
  message.step = of(ranks_.front())->step;
  for (Rank& rank : ranks_) {
    message.ranks.push_back(std::move(of(rank)->times));
    of(rank).reset();
    for (PlanStepTime& time : message.ranks.back()) {
      for (int64_t* at : {&time.arrive_ns, &time.start_ns, &time.end_ns}) *at -= zero.at(rank.host);
    }
  }
  messages.push_back(std::move(message));
}

}  // namespace shardscope
