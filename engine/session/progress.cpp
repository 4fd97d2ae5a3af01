#include "engine/session/progress.h"

#include <algorithm>

namespace shardscope {

Progress::Progress(std::string session_directory, int ranks, std::vector<PlanStepName> plan_steps,
                   std::vector<std::string> metrics)
    : session_directory_(std::move(session_directory)),
      plan_steps_(std::move(plan_steps)),
      metrics_(std::move(metrics)),
      readers_(ranks),
      statuses_(ranks),
      told_(ranks) {}

std::vector<Message> Progress::poll() {
  std::vector<Message> messages;
  for (int rank = 0; rank < static_cast<int>(readers_.size()); ++rank) {
    read_rank(rank);
    if (!statuses_[rank]) continue;
    RankStateMessage state{rank, statuses_[rank]->state, statuses_[rank]->pid};
    if (told_[rank] == state) continue;
    told_[rank] = state;
    messages.push_back(state);
  }
  // A step that some rank's full ring has lost is closed, without that rank, when a later one is complete.
  auto is_complete = [](const auto& entry) {
    return std::all_of(entry.second.records.begin(), entry.second.records.end(),
                       [](const auto& record) { return record.has_value(); });
  };
  auto last = std::find_if(open_.rbegin(), open_.rend(), is_complete);
  if (last == open_.rend()) return messages;
  auto end = last.base();
  for (auto entry = open_.begin(); entry != end; ++entry) {
    completed_ = std::max(completed_, entry->first + 1);
    bool any = std::any_of(entry->second.records.begin(), entry->second.records.end(),
                           [](const auto& record) { return record.has_value(); });
    if (any) messages.push_back(close(entry->first, entry->second));
  }
  open_.erase(open_.begin(), end);
  return messages;
}

void Progress::read_rank(int rank) {
  if (!readers_[rank]) readers_[rank] = TelemetryReader::open(session_directory_, rank);
  if (!readers_[rank]) return;
  // Status first: a rank seen finished has written all its steps.
  statuses_[rank] = readers_[rank]->status();
  for (const StepRecord& record : readers_[rank]->take_steps()) {
    if (record.step >= completed_) open_step(record.step).records[rank] = record;
  }
  for (const StepEvent& event : readers_[rank]->take_events()) {
    if (event.training_step >= completed_) add_event(rank, event);
  }
}

Progress::OpenStep& Progress::open_step(int64_t step) {
  OpenStep& open = open_[step];
  if (open.records.empty()) {
    open.records.resize(readers_.size());
    open.measurements.resize(readers_.size());
    open.plan_step_ms.resize(plan_steps_.size());
    open.plan_step_ranks.resize(plan_steps_.size());
  }
  return open;
}

void Progress::add_event(int rank, const StepEvent& event) {
  if (event.plan_step < 0 || event.plan_step >= static_cast<int64_t>(plan_steps_.size())) return;
  OpenStep& open = open_step(event.training_step);
  auto phase = static_cast<size_t>(plan_steps_[event.plan_step].phase);
  open.measurements[rank].wait_ms[phase] += static_cast<double>(event.start_ns - event.arrive_ns) * 1e-6;
  open.measurements[rank].busy_ms[phase] += static_cast<double>(event.end_ns - event.start_ns) * 1e-6;
  open.plan_step_ms[event.plan_step] += static_cast<double>(event.end_ns - event.arrive_ns) * 1e-6;
  ++open.plan_step_ranks[event.plan_step];
}

StepMessage Progress::close(int64_t step, const OpenStep& open) const {
  StepMessage message;
  message.step = step;
  for (size_t rank = 0; rank < open.records.size(); ++rank) {
    const auto& record = open.records[rank];
    if (!record) continue;
    if (message.ranks.empty()) message.metrics = with_names(metrics_, record->metrics);
    message.step_ms = std::max(message.step_ms, record->step_ms);
    RankMeasurement measured = open.measurements[rank];
    measured.rank = static_cast<int>(rank);
    measured.use = record->use;
    message.ranks.push_back(measured);
  }
  message.plan_step_ms = open.plan_step_ms;
  for (size_t i = 0; i < message.plan_step_ms.size(); ++i) {
    message.plan_step_ms[i] /= std::max(1, open.plan_step_ranks[i]);
  }
  return message;
}

}  // namespace shardscope
