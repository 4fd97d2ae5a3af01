#include "gui/run/run_record.h"

#include <algorithm>

namespace shardscope {
namespace {

template <class... F>
struct Visitor : F... {
  using F::operator()...;
};

constexpr size_t log_capacity = 5000;

}  // namespace

void RunRecord::add(const Message& message) {
  std::visit(Visitor{[this](const HelloMessage& m) { hello = m; },
                     [this](const SnapshotMessage& m) {
                       for (const StepMessage& step : m.steps)
                         if (steps.empty() || step.step > steps.back().step) add_step(step);
                       for (const RankStateMessage& rank : m.ranks) set_rank(rank);
                       add_unknown_log(m.log);
                       if (m.failure) failure = m.failure;
                     },
                     [this](const StepMessage& m) { add_step(m); }, [this](const RankStateMessage& m) { set_rank(m); },
                     [this](const LogMessage& m) {
                       log.push_back(m);
                       last_told_ = m;
                     },
                     [this](const FailureMessage& m) { failure = m; },
                     [this](const FinishedMessage& m) {
                       finished = m;
                       is_over = true;
                     }},
             message);
  if (log.size() > 2 * log_capacity) log.erase(log.begin(), log.end() - log_capacity);
}

// Behind the last line that was told.
void RunRecord::add_unknown_log(const std::vector<LogMessage>& told) {
  auto first = told.begin();
  if (last_told_) {
    const auto known = std::find(told.rbegin(), told.rend(), *last_told_);
    if (known != told.rend()) first = known.base();
  }
  log.insert(log.end(), first, told.end());
  if (!told.empty()) last_told_ = told.back();
}

int64_t RunRecord::completed() const {
  return std::max(finished ? finished->steps : 0, steps.empty() ? 0 : steps.back().step + 1);
}

std::string RunRecord::state_of(int rank) const {
  const auto found = std::ranges::find(ranks, rank, &RankStateMessage::rank);
  const RankState state = found == ranks.end() ? RankState::starting : found->state;
  if (failure && failure->rank == rank)
    return failure->signal.empty() ? std::string(name(RankState::failed)) : failure->signal;
  const bool was_alive = state == RankState::starting || state == RankState::running;
  return is_over && was_alive ? "ended" : std::string(name(state));
}

void RunRecord::add_step(const StepMessage& step) {
  steps.push_back(step);
  // The detail of older steps is kept as a sum only.
  if (steps.size() > 1) steps[steps.size() - 2].plan_step_ms.clear();
  if (step.plan_step_ms.empty()) return;
  if (first_plan_step_ms_.empty()) {
    first_plan_step_ms_ = step.plan_step_ms;
    return;
  }
  plan_step_sums_.resize(step.plan_step_ms.size(), 0);
  for (size_t i = 0; i < step.plan_step_ms.size(); ++i) plan_step_sums_[i] += step.plan_step_ms[i];
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

std::optional<double> RunRecord::plan_step_ms(int id) const {
  const std::vector<double>& sums = plan_step_count_ > 0 ? plan_step_sums_ : first_plan_step_ms_;
  if (id < 0 || id >= static_cast<int>(sums.size())) return std::nullopt;
  return sums[id] / std::max(1, plan_step_count_);
}

std::optional<double> RunRecord::median_step_ms() const {
  std::vector<double> times;
  for (size_t i = steps.size() > 1 ? 1 : 0; i < steps.size(); ++i) times.push_back(steps[i].step_ms);
  if (times.empty()) return std::nullopt;
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

const std::vector<RankMeasurement>& RunRecord::measurements() const {
  static const std::vector<RankMeasurement> none;
  return steps.empty() ? none : steps.back().ranks;
}

const RankMeasurement* RunRecord::measurement(int rank) const {
  const auto found = std::ranges::find(measurements(), rank, &RankMeasurement::rank);
  return found == measurements().end() ? nullptr : &*found;
}

bool RunRecord::is_of(const Plan& plan) const {
  return hello && hello->plan_hash == plan.hash && hello->plan_steps.size() == static_cast<size_t>(plan.steps().size());
}

}  // namespace shardscope
