#include "gui/run/run_record.h"

#include <algorithm>
#include <iterator>

namespace shardscope {
namespace {

template <class... F>
struct Visitor : F... {
  using F::operator()...;
};

constexpr size_t log_capacity = 5000, most_log_bytes = 16 << 20;
constexpr size_t most_restarts = 1000;
constexpr int64_t most_missing = 10000;  // steps that are asked for

}  // namespace

void RunRecord::add(Message message) {
  std::visit(
      Visitor{
          [this](HelloMessage& m) { hello = std::move(m); }, [this](SnapshotMessage& m) { add_snapshot(std::move(m)); },
          [this](const StepMessage& m) {
            add_step(m);
            step_times_.add(m.step_ms);
          },
          [this](const StepsMessage& m) { add_answer(m); },
          [this](TraceMessage& m) { add_trace(std::make_shared<const TraceMessage>(std::move(m))); },
          [this](ExpertsMessage& m) { experts = std::move(m); }, [this](const RankStateMessage& m) { set_rank(m); },
          [this](const LogMessage& m) {
            log.push_back(m);
            last_reported_ = m;
          },
          [this](const RestartMessage& m) { restarts.push_back(m); }, [this](const FailureMessage& m) { failure = m; },
          [this](const FinishedMessage& m) {
            finished = m;
            is_over = true;
          }},
      message);
  bound_log();
  if (restarts.size() > 2 * most_restarts) restarts.erase(restarts.begin(), restarts.end() - most_restarts);
}

// Half of what is too much goes at once: seldom.
void RunRecord::bound_log() {
  for (; bounded_lines_ < log.size(); ++bounded_lines_) log_bytes_ += log[bounded_lines_].text.size();
  if (log.size() <= 2 * log_capacity && log_bytes_ <= most_log_bytes) return;
  auto kept = log.end();
  size_t bytes = 0;
  while (kept != log.begin() && size_t(log.end() - kept) < log_capacity) {
    bytes += std::prev(kept)->text.size();
    if (bytes > most_log_bytes / 2) break;
    --kept;
  }
  log_dropped += kept - log.begin();
  log.erase(log.begin(), kept);
  bounded_lines_ = log_bytes_ = 0;
  bound_log();
}

// Behind the last line that was reported.
void RunRecord::add_unknown_log(const std::vector<LogMessage>& reported) {
  auto first = reported.begin();
  if (last_reported_) {
    const auto known = std::find(reported.rbegin(), reported.rend(), *last_reported_);
    if (known != reported.rend()) first = known.base();
  }
  log.insert(log.end(), first, reported.end());
  if (!reported.empty()) last_reported_ = reported.back();
}

std::vector<StepMessage> RunRecord::steps() const {
  std::vector<StepMessage> past = past_.steps(), list;
  if (looked_over_.empty()) {
    list = std::move(past);
  } else {
    auto close = looked_over_.begin();
    for (StepMessage& step : past) {
      for (; close != looked_over_.end() && close->first < step.step; ++close) list.push_back(close->second);
      if (!looked_over_.contains(step.step)) list.push_back(std::move(step));
    }
    for (; close != looked_over_.end(); ++close) list.push_back(close->second);
  }
  const int64_t first = recent_.empty() ? 0 : recent_.front().step;
  while (!recent_.empty() && !list.empty() && list.back().step >= first) list.pop_back();
  list.insert(list.end(), recent_.begin(), recent_.end());
  return list;
}

int64_t RunRecord::completed() const {
  return std::max(finished ? finished->steps : 0, recent_.empty() ? 0 : recent_.back().step + 1);
}

void RunRecord::look_at(StepRange steps) {
  const int64_t known = recent_.empty() ? 0 : recent_.front().step;
  steps = {std::max<int64_t>(0, steps.first), std::min(steps.second, known)};
  looked_over_.clear();
  looked_at_.reset();
  if (steps.first < steps.second && steps.second - steps.first <= most_detail) looked_at_ = steps;
}

std::optional<RunRecord::StepRange> RunRecord::missing() const { return gap_ ? gap_ : looked_at_; }

std::string RunRecord::state_of(int rank) const {
  const auto found = std::ranges::find(ranks, rank, &RankStateMessage::rank);
  const RankState state = found == ranks.end() ? RankState::starting : found->state;
  if (failure && failure->rank == rank)
    return failure->signal.empty() ? std::string(name(RankState::failed)) : failure->signal;
  const bool was_alive = state == RankState::starting || state == RankState::running;
  return is_over && was_alive ? "ended" : std::string(name(state));
}

void RunRecord::add_step(const StepMessage& step) {
  ++steps_received_;
  if (!recent_.empty()) recent_.back().ranks.clear();
  while (!recent_.empty() && recent_.back().step >= step.step) recent_.pop_back();  // a run that began anew
  recent_.push_back(step);
  if (recent_.size() <= recent_steps) return;
  past_.add(recent_.front());
  recent_.pop_front();
}

void RunRecord::add_snapshot(SnapshotMessage snapshot) {
  const int64_t known = recent_.empty() ? -1 : recent_.back().step;
  for (const StepMessage& step : snapshot.past)
    if (step.step > known) past_.add(step);
  const int64_t first = snapshot.steps.empty() ? known + 1 : snapshot.steps.front().step;
  if (known >= 0 && first > known + 1) {
    gap_ = {gap_ ? gap_->first : known + 1, first};
    for (const StepMessage& step : recent_) past_.add(step);
    recent_.clear();
    if (gap_->second - gap_->first > most_missing) gap_.reset();  // what is known of the past is enough
  }
  for (const StepMessage& step : snapshot.steps)
    if (step.step > known) add_step(step);
  step_times_ = std::move(snapshot.step_times);
  for (TraceMessage& trace : snapshot.traces) add_trace(std::make_shared<const TraceMessage>(std::move(trace)));
  if (snapshot.experts) experts = std::move(snapshot.experts);
  std::map<int, RankStateMessage> by_rank;
  for (const auto* reported : {&ranks, &snapshot.ranks})
    for (const RankStateMessage& rank : *reported) by_rank[rank.rank] = rank;
  ranks.clear();
  for (const auto& [number, rank] : by_rank) ranks.push_back(rank);
  add_unknown_log(snapshot.log);
  restarts = snapshot.restarts;
  if (snapshot.failure) failure = snapshot.failure;
}

void RunRecord::add_answer(const StepsMessage& answer) {
  std::optional<StepRange>& asked = gap_ ? gap_ : looked_at_;
  if (!asked || answer.from != asked->first) return;
  for (const StepMessage& step : answer.steps) {
    if (step.step < asked->first || step.step >= asked->second) continue;
    if (gap_) past_.add(step);
    else looked_over_[step.step] = {step.step, step.metrics, step.step_ms, {}};
  }
  steps_received_ += std::ssize(answer.steps);
  asked->first = answer.steps.empty() ? asked->second : answer.steps.back().step + 1;
  if (asked->first >= asked->second) asked.reset();
}

void RunRecord::add_trace(std::shared_ptr<const TraceMessage> reported) {
  std::shared_ptr<const TraceMessage>& known = traces_.at(static_cast<size_t>(reported->choice));
  const bool is_new = !known || known->step != reported->step;
  known = std::move(reported);
  const TraceMessage& trace = *known;
  if (trace.choice != TraceChoice::latest || !is_new || trace.ranks.empty()) return;
  if (std::exchange(only_first_traced_, only_first_traced_ && trace.step == 0) && !only_first_traced_) {
    plan_step_sums_.clear();
    plan_step_count_ = 0;
  }
  std::map<int, double> ranks_of_stage;
  const auto stage_of = [this](size_t rank) { return hello ? hello->plan_steps.stage_of(static_cast<int>(rank)) : 0; };
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) ++ranks_of_stage[stage_of(rank)];
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const int stage = stage_of(rank);
    const std::vector<PlanStepTime>& times = trace.ranks[rank];
    if (std::ssize(plan_step_sums_) <= stage) plan_step_sums_.resize(static_cast<size_t>(stage) + 1);
    std::vector<MeasuredTime>& sums = plan_step_sums_[static_cast<size_t>(stage)];
    if (sums.empty()) sums.resize(times.size());
    const double share = 1e-9 / ranks_of_stage[stage];
    for (size_t i = 0; i < std::min(times.size(), sums.size()); ++i) {
      sums[i].waiting += double(times[i].start_ns - times[i].arrive_ns) * share;
      sums[i].working += double(times[i].end_ns - times[i].start_ns) * share;
    }
  }
  ++plan_step_count_;
}

void RunRecord::set_rank(const RankStateMessage& rank) {
  const auto found = std::ranges::lower_bound(ranks, rank.rank, {}, &RankStateMessage::rank);
  if (found != ranks.end() && found->rank == rank.rank) {
    *found = rank;
  } else {
    ranks.insert(found, rank);
  }
}

std::optional<MeasuredTime> RunRecord::plan_step_time(int position, int stage) const {
  if (stage < 0 || stage >= std::ssize(plan_step_sums_)) return std::nullopt;
  const std::vector<MeasuredTime>& sums = plan_step_sums_[static_cast<size_t>(stage)];
  if (position < 0 || position >= std::ssize(sums)) return std::nullopt;
  const MeasuredTime& sum = sums[static_cast<size_t>(position)];
  return MeasuredTime{sum.waiting / plan_step_count_, sum.working / plan_step_count_};
}

std::optional<double> RunRecord::median_step_ms() const { return step_times_.median(); }

const std::shared_ptr<const TraceMessage>& RunRecord::shared_trace(TraceChoice choice) const {
  return traces_.at(static_cast<size_t>(choice));
}

const std::vector<RankMeasurement>& RunRecord::measurements() const {
  static const std::vector<RankMeasurement> none;
  return recent_.empty() ? none : recent_.back().ranks;
}

const RankMeasurement* RunRecord::measurement(int rank) const {
  const auto found = std::ranges::find(measurements(), rank, &RankMeasurement::rank);
  return found == measurements().end() ? nullptr : &*found;
}

bool RunRecord::is_of(const Plan& plan) const {
  if (!hello || hello->plan_hash != plan.hash) return false;
  const auto& reported = hello->plan_steps.stages;
  bool same = std::ssize(reported) == plan.program.stages;
  for (int stage = 0; same && stage < plan.program.stages; ++stage)
    same = std::ssize(reported[static_cast<size_t>(stage)]) == plan.instructions(stage).size();
  return same;
}

}  // namespace shardscope
