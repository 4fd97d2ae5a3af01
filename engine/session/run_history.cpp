#include "engine/session/run_history.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/session/line_cost.h"

namespace shardscope {

namespace {

constexpr std::string_view cut_mark = " ...";
constexpr size_t details_part = 8, answer_part = 2;  // of what a client accepts

}  // namespace

RunHistory::RunHistory(const std::string& directory, HelloMessage hello)
    : hello_(std::move(hello)), file_(std::make_unique<StepFile>(directory, hello_.ranks, hello_.metrics)) {}

std::optional<LogMessage> RunHistory::add(const Message& message) {
  if (auto* step = std::get_if<StepMessage>(&message)) return add_step(*step);
  if (auto* trace = std::get_if<TraceMessage>(&message)) {
    traces_.at(static_cast<size_t>(trace->choice)) = *trace;
  } else if (auto* experts = std::get_if<ExpertsMessage>(&message)) {
    experts_ = *experts;
  } else if (auto* rank = std::get_if<RankStateMessage>(&message)) {
    const auto known = std::ranges::find(ranks_, rank->rank, &RankStateMessage::rank);
    if (known == ranks_.end()) ranks_.push_back(*rank);
    else *known = *rank;
  } else if (auto* log = std::get_if<LogMessage>(&message)) {
    add_log(*log);
  } else if (auto* restart = std::get_if<RestartMessage>(&message)) {
    restarts_.push_back(*restart);
    if (restarts_.size() > message_limits::restarts) restarts_.erase(restarts_.begin());
  } else if (auto* failure = std::get_if<FailureMessage>(&message)) {
    failure_ = *failure;
  } else if (auto* finished = std::get_if<FinishedMessage>(&message)) {
    finished_ = *finished;
  }
  return std::nullopt;
}

std::optional<LogMessage> RunHistory::add_step(const StepMessage& step) {
  while (!recent_.empty() && recent_.back().step >= step.step) recent_.pop_back();  // begun anew
  if (recent_.empty()) past_.erase_from(step.step);
  recent_.push_back(step);
  step_times_.add(step.step_ms);
  if (recent_.size() > recent_steps) {
    past_.add(recent_.front());
    recent_.pop_front();
  }
  try {
    if (file_) file_->add(step);
  } catch (const Failure& failure) {
    file_.reset();
    return LogMessage{-1, std::string(failure.what()) + "; clients can no longer ask for steps of the past"};
  }
  return std::nullopt;
}

void RunHistory::add_log(LogMessage log) {
  if (log.text.size() > line_bytes) log.text = log.text.substr(0, line_bytes - cut_mark.size()).append(cut_mark);
  logged_bytes_ += log.text.size();
  log_.push_back(std::move(log));
  while (log_.size() > log_lines || logged_bytes_ > log_bytes) {
    logged_bytes_ -= log_.front().text.size();
    log_.pop_front();
  }
}

std::string RunHistory::greeting() const {
  SnapshotMessage snapshot{past_.steps(), newest_steps(), step_times_, {}, experts_, ranks_, {log_.begin(), log_.end()},
                           restarts_,     failure_};
  LineCost cost;
  for (const auto& trace : traces_) {
    if (!trace) continue;
    LineCost with = cost;
    with += cost_of(*trace);
    if (with.fitting(trace_part) == 0) continue;
    cost = with;
    snapshot.traces.push_back(*trace);
  }
  std::string lines = to_json_line(hello_) + to_json_line(snapshot);
  if (finished_) lines += to_json_line(*finished_);
  return lines;
}

// The ranks of as many of the latest as fit.
std::vector<StepMessage> RunHistory::newest_steps() const {
  if (recent_.empty()) return {};
  const size_t detailed = std::min(recent_.size(), cost_of(Message(recent_.back())).fitting(details_part));
  std::vector<StepMessage> steps;
  for (const StepMessage& step : recent_) {
    if (steps.size() + detailed >= recent_.size()) steps.push_back(step);
    else steps.push_back({step.step, step.metrics, step.step_ms, {}});
  }
  return steps;
}

StepsMessage RunHistory::steps(int64_t from, int64_t to) const {
  constexpr int64_t last = message_limits::steps - 1;
  StepsMessage answer{std::clamp<int64_t>(from, 0, last), std::clamp<int64_t>(to, 0, last), {}};
  try {
    if (file_) answer.steps = file_->read(from, to, steps_an_answer);
    if (answer.steps.empty()) return answer;
    const size_t fitting = cost_of(Message(answer.steps.back())).fitting(answer_part);
    answer.steps.resize(std::clamp<size_t>(fitting, 1, answer.steps.size()));
  } catch (const Failure&) {
    answer.steps.clear();  // as where there are none
  }
  return answer;
}

}  // namespace shardscope
