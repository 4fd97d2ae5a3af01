#include "engine/session/run_history.h"

#include <algorithm>

#include "engine/base/error.h"

namespace shardscope {

namespace {

constexpr std::string_view cut_mark = " ...";

}  // namespace

RunHistory::RunHistory(const std::string& directory, HelloMessage hello)
    : hello_(std::move(hello)), file_(std::make_unique<StepFile>(directory, hello_.ranks, hello_.metrics)) {}

std::optional<LogMessage> RunHistory::add(const Message& message) {
  if (auto* step = std::get_if<StepMessage>(&message)) return add_step(*step);
  if (auto* trace = std::get_if<TraceMessage>(&message)) {
    traces_.at(static_cast<size_t>(trace->choice)) = *trace;
  } else if (auto* rank = std::get_if<RankStateMessage>(&message)) {
    const auto known = std::ranges::find(ranks_, rank->rank, &RankStateMessage::rank);
    if (known == ranks_.end()) ranks_.push_back(*rank);
    else *known = *rank;
  } else if (auto* log = std::get_if<LogMessage>(&message)) {
    add_log(*log);
  } else if (auto* restart = std::get_if<RestartMessage>(&message)) {
    restarts_.push_back(*restart);
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
    return LogMessage{-1, std::string(failure.what()) + "; watchers can no longer ask for steps of the past"};
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
  SnapshotMessage snapshot{past_.steps(), {recent_.begin(), recent_.end()}, step_times_, {},
                           ranks_,        {log_.begin(), log_.end()},       restarts_,   failure_};
  for (const auto& trace : traces_) {
    if (trace) snapshot.traces.push_back(*trace);
  }
  std::string lines = to_json_line(hello_) + to_json_line(snapshot);
  if (finished_) lines += to_json_line(*finished_);
  return lines;
}

StepsMessage RunHistory::steps(int64_t from, int64_t to) const {
  StepsMessage answer{from, to, {}};
  try {
    if (file_) answer.steps = file_->read(from, to, steps_an_answer);
  } catch (const Failure&) {
    answer.steps.clear();  // as where there are none
  }
  return answer;
}

}  // namespace shardscope
