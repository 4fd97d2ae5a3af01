#include "gui/compare/plan_sweep.h"

#include <algorithm>
#include <utility>

#include "engine/plan/prediction.h"
#include "gui/document/faults.h"

namespace shardscope {
namespace {

SweptPlan plan_of(const PlanSource& source, SweptPlan swept, const std::stop_token& stop) {
  try {
    const Plan plan = source.plan(swept.config, stop);
    swept.facts.emplace(plan, utilisation(plan), exchanges(plan));
    swept.exposed = most_exposed_by_axes(plan);
    swept.excess = errors_text(memory_excess(plan));
  } catch (const Failure& failure) {
    swept.error = errors_text(failure.errors());
  } catch (const Cancelled&) {
    // Nobody takes it.
  } catch (const std::exception& fault) {
    swept.error = QString::fromUtf8(fault.what());
  }
  return swept;
}

}  // namespace

PlanSweep::PlanSweep(PlanSource source, QObject* parent)
    : QObject(parent), source_(std::move(source)), job_([this](SweptPlan plan) { take(std::move(plan)); }, thread_) {}

void PlanSweep::start(std::vector<RunConfig> configs) {
  std::vector<SweptPlan> plans;
  for (RunConfig& config : configs) plans.emplace_back().config = std::move(config);
  go_through(std::move(plans));
}

void PlanSweep::go_through(std::vector<SweptPlan> plans) {
  job_.cancel();
  plans_ = std::move(plans);
  at_ = 0;
  running_ = true;
  emit started();
  next();
}

int PlanSweep::done() const { return static_cast<int>(std::ranges::count_if(plans_, &SweptPlan::is_done)); }

void PlanSweep::cancel() {
  if (!running_) return;
  job_.cancel();
  running_ = false;
  emit ended();
}

void PlanSweep::forget() {
  job_.cancel();
  running_ = false;
  plans_.clear();
  emit started();
  emit ended();
}

void PlanSweep::next() {
  while (at_ < plans_.size() && plans_[at_].is_done()) ++at_;
  if (at_ < plans_.size()) {
    job_.make(
        [source = source_, plan = plans_[at_]](const std::stop_token& stop) { return plan_of(source, plan, stop); });
  } else {
    running_ = false;
    emit ended();
  }
}

void PlanSweep::take(SweptPlan plan) {
  const size_t taken = at_++;
  plans_[taken] = std::move(plan);
  emit planned(static_cast<int>(taken));
  if (running_) next();
}

}  // namespace shardscope
