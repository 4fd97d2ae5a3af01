#include "gui/pages/timeline_builder.h"

#include "gui/planning/disposal.h"

namespace shardscope {

TimelineBuilder::TimelineBuilder(QObject* parent)
    : QObject(parent), background_([this](std::shared_ptr<const MeasuredStep> step) { receive(std::move(step)); }) {}

void TimelineBuilder::take(std::shared_ptr<const Plan> plan, Trace trace) {
  Work work{std::move(plan), std::move(trace)};
  if (!work.plan || !work.trace) work = {};
  if (work == taken_) return;
  const bool is_other_plan = work.plan != taken_.plan;
  taken_ = work;
  if (is_other_plan) {
    step_.reset();
    trace_.reset();
    emit built();
  }
  if (background_.is_busy()) wanted_ = std::move(work);
  else begin(std::move(work));
}

void TimelineBuilder::begin(Work work) {
  running_ = std::move(work);
  if (!running_.plan) return;
  background_.make([work = running_](const std::stop_token&) -> std::shared_ptr<const MeasuredStep> {
    std::optional<MeasuredStep> made = measured_step(*work.plan, work.trace->ranks);
    return made ? share(std::move(*made)) : nullptr;
  });
}

void TimelineBuilder::receive(std::shared_ptr<const MeasuredStep> step) {
  if (running_.plan == taken_.plan) {
    step_ = std::move(step);
    trace_ = step_ ? running_.trace : nullptr;
    emit built();
  }
  running_ = {};
  if (wanted_) begin(*std::exchange(wanted_, std::nullopt));
}

}  // namespace shardscope
