#include "gui/compare/plan_sweep.h"

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
  plans_.clear();
  for (RunConfig& config : configs) plans_.emplace_back().config = std::move(config);
  done_ = 0;
  running_ = true;
  emit started();
  next();
}

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
  done_ = 0;
  emit started();
  emit ended();
}

void PlanSweep::next() {
  if (done_ < std::ssize(plans_)) {
    job_.make([source = source_, plan = plans_[static_cast<size_t>(done_)]](const std::stop_token& stop) {
      return plan_of(source, plan, stop);
    });
  } else {
    running_ = false;
    emit ended();
  }
}

void PlanSweep::take(SweptPlan plan) {
  plans_[static_cast<size_t>(done_++)] = std::move(plan);
  emit planned(done_ - 1);
  if (running_) next();
}

}  // namespace shardscope
