#include "gui/pages/timeline_title.h"

#include <QObject>

#include "engine/base/units.h"
#include "gui/document/text.h"

namespace shardscope {

namespace {

QString with_stage(const QString& what, const Plan& plan, const TimelineRow& row) {
  return plan.program.stages > 1 ? QObject::tr("%1, stage %2").arg(what).arg(row.stage) : what;
}

// "nvlink, device 3", "memory, stage 1", "memory".
QString of_stage_or_device(const QString& what, const Plan& plan, const TimelineRow& row) {
  return row.device >= 0 ? QObject::tr("%1, device %2").arg(what).arg(row.device) : with_stage(what, plan, row);
}

TimelineTitle title_of_memory(const Plan& plan, const TimelineRow& row, const MemoryTrack* memory) {
  const QString title = of_stage_or_device(QObject::tr("memory"), plan, row);
  if (!memory) return {title, {}, false};
  const QString held = qt(bytes_text(double(memory->held())));
  const int64_t limit = plan.memory_limit_bytes;
  if (limit <= 0) return {title, held, false};
  return {title, QObject::tr("%1 of %2").arg(held, qt(bytes_text(double(limit)))), memory->held() > limit};
}

TimelineTitle title_of_stream(const Plan& plan, const TimelineRow& row) {
  const PartSeconds sum = row.track->seconds(0, row.track->end());
  const double hidden = sum[size_t(TimePart::hidden)], exposed = sum[size_t(TimePart::transfer)];
  return {of_stage_or_device(row.stream, plan, row), row.is_behind_passes
                                                         ? QObject::tr("hidden %1").arg(qt(seconds_text(hidden)))
                                                         : QObject::tr("exposed %1").arg(qt(seconds_text(exposed)))};
}

TimelineTitle title_of_rank(const Plan& plan, const TimelineRow& row, const MeasuredStep& measured) {
  const double waiting = row.track->seconds(0, measured.seconds)[size_t(TimePart::waiting)];
  const bool is_late = row.rank == measured.late_rank();
  return {with_stage(QObject::tr("rank %1").arg(row.rank), plan, row) + (is_late ? QObject::tr(" (late)") : QString()),
          QObject::tr("waits %1").arg(qt(share_text(part_of(waiting, measured.seconds)))), is_late};
}

}  // namespace

TimelineTitle timeline_title(const Plan& plan, const TimelineRow& row, const MeasuredStep* measured,
                             const MemoryTrack* memory, std::optional<int> device) {
  if (row.is_memory) return title_of_memory(plan, row, memory);
  if (!row.stream.isEmpty()) return title_of_stream(plan, row);
  if (row.device >= 0)
    return {with_stage(QObject::tr("device %1").arg(row.device), plan, row), device_place(plan, row.device)};
  if (row.rank >= 0) return title_of_rank(plan, row, *measured);
  return {with_stage(device ? QObject::tr("device %1").arg(*device) : QObject::tr("predicted"), plan, row),
          qt(seconds_text(row.predicted->seconds))};
}

}  // namespace shardscope
