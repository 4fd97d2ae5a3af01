#include "gui/pages/timeline_builder.h"

#include <QPromise>
#include <QThreadPool>

namespace shardscope {

TimelineBuilder::TimelineBuilder(QObject* parent) : QObject(parent) {
  connect(&watcher_, &QFutureWatcherBase::finished, this, &TimelineBuilder::receive);
}

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
  if (is_working_) wanted_ = std::move(work);
  else begin(std::move(work));
}

void TimelineBuilder::begin(Work work) {
  running_ = std::move(work);
  if (!running_.plan) return;
  is_working_ = true;
  auto promise = std::make_shared<QPromise<std::shared_ptr<const MeasuredStep>>>();
  watcher_.setFuture(promise->future());
  promise->start();
  QThreadPool::globalInstance()->start([promise, work = running_] {
    std::optional<MeasuredStep> made = measured_step(*work.plan, work.trace->ranks);
    promise->addResult(made ? std::make_shared<const MeasuredStep>(std::move(*made)) : nullptr);
    promise->finish();
  });
}

void TimelineBuilder::receive() {
  is_working_ = false;
  if (running_.plan == taken_.plan) {
    step_ = watcher_.result();
    trace_ = step_ ? running_.trace : nullptr;
    emit built();
  }
  running_ = {};
  if (wanted_) begin(*std::exchange(wanted_, std::nullopt));
}

}  // namespace shardscope
