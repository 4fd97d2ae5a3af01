#include "engine/simulate/stage_clock.h"

#include <algorithm>
#include <limits>

namespace shardscope {

void StageClock::issue() {
  if (streams_->issue_seconds == 0) return;
  issued_ += streams_->issue_seconds;
  idle_until(issued_);
}

TimeSpan StageClock::compute(double seconds) {
  const double start = time_;
  if (seconds > 0) issue();
  if (open_ == 0) {
    time_ += std::max(0.0, seconds);
    return {start, time_};
  }
  for (double remaining = seconds; remaining > 0;) {
    choose(true, -1);
    double slow = 1;
    for (int stream : running_) slow *= streams_->find(Streams::compute, stream)->of_first;
    const double own = remaining * slow, step = std::min(own, first_end(true));
    run(step, true);
    remaining = step == own ? 0 : remaining - step / slow;
  }
  return {start, time_};
}

void StageClock::idle_until(double time) {
  if (open_ == 0) {
    time_ = std::max(time_, time);
    return;
  }
  while (time_ < time) {
    choose(false, -1);
    const double left = time - time_, step = std::min(left, first_end(false));
    run(step, false);
    if (step == left) time_ = time;
  }
}

void StageClock::await(double message) {
  idle_until(message);
  if (streams_->blocking_messages) issued_ = std::max(issued_, time_);
}

TimeSpan StageClock::start(int position, int stream, double seconds) {
  const double start = time_;
  if (seconds > 0) issue();
  queues_[static_cast<size_t>(stream)].transfers.push_back({position, started_++, seconds, std::nullopt});
  ++open_;
  return {start, time_};
}

TimeSpan StageClock::finish(int position, int stream) {
  const double start = time_;
  while (is_open(position, stream)) {
    choose(false, stream);
    run(first_end(false), false);
  }
  exposed_ += time_ - start;
  return {start, time_};
}

bool StageClock::is_open(int position, int stream) const {
  const Queue& queue = queues_[static_cast<size_t>(stream)];
  return std::find_if(queue.transfers.begin() + static_cast<std::ptrdiff_t>(queue.first), queue.transfers.end(),
                      [&](const Transfer& one) { return one.position == position; }) != queue.transfers.end();
}

double StageClock::queued_seconds(int stream) const {
  const Queue& queue = queues_[static_cast<size_t>(stream)];
  double seconds = 0;
  for (size_t i = queue.first; i < queue.transfers.size(); ++i) seconds += queue.transfers[i].remaining;
  return seconds;
}

double StageClock::queued_behind(int position, int stream) const {
  const Queue& queue = queues_[static_cast<size_t>(stream)];
  double seconds = 0;
  for (size_t i = queue.transfers.size(); i-- > queue.first && queue.transfers[i].position != position;)
    seconds += queue.transfers[i].remaining;
  return seconds;
}

void StageClock::choose(bool computes, int first) {
  running_.clear();
  if (open_ == 0) return;
  for (int stream = 0; stream < static_cast<int>(queues_.size()); ++stream) {
    if (!queues_[static_cast<size_t>(stream)].empty()) running_.push_back(stream);
  }
  std::ranges::sort(running_, {}, [&](int stream) {
    return stream == first ? -1 : queues_[static_cast<size_t>(stream)].front().number;
  });
  size_t kept = 0;
  for (int stream : running_) {
    bool may = !computes || streams_->find(Streams::compute, stream);
    for (size_t other = 0; other < kept && may; ++other) may = streams_->find(stream, running_[other]).has_value();
    if (may) running_[kept++] = stream;
  }
  running_.resize(kept);
}

double StageClock::slowdown(int stream, bool computes) const {
  double factor = computes ? streams_->find(stream, Streams::compute)->of_first : 1;
  for (int other : running_) {
    if (other != stream) factor *= streams_->find(stream, other)->of_first;
  }
  return factor;
}

double StageClock::first_end(bool computes) {
  double end = std::numeric_limits<double>::infinity();
  for (int stream : running_) {
    Transfer& transfer = queues_[static_cast<size_t>(stream)].front();
    if (!transfer.begun) transfer.begun = time_;
    end = std::min(end, transfer.remaining * slowdown(stream, computes));
  }
  return end;
}

void StageClock::run(double seconds, bool computes) {
  if (computes && !running_.empty()) hidden_ += seconds;
  for (int stream : running_) {
    Queue& queue = queues_[static_cast<size_t>(stream)];
    Transfer& transfer = queue.front();
    const double slow = slowdown(stream, computes);
    transfer.remaining = seconds == transfer.remaining * slow ? 0 : transfer.remaining - seconds / slow;
  }
  time_ += seconds;
  for (int stream : running_) {
    Queue& queue = queues_[static_cast<size_t>(stream)];
    if (queue.front().remaining > 0) continue;
    transfers_.push_back({queue.front().position, stream, {*queue.front().begun, time_}});
    if (++queue.first == queue.transfers.size()) queue.transfers.clear(), queue.first = 0;
    --open_;
  }
}

}  // namespace shardscope
