#include "gui/pages/timeline_page.h"

#include <QPainter>
#include <algorithm>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/fitted_name.h"
#include "gui/pages/no_plan.h"
#include "gui/workspace/step_facts.h"
#include "viz/paint/pipeline_geometry.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

constexpr double left = 150;
constexpr double right = 20;
constexpr double top = 76;
constexpr double lane_gap = 12;

}  // namespace

TimelinePage::TimelinePage(Workspace& workspace, QWidget* parent)
    : TimeCanvas(parent),
      workspace_(workspace),
      choice_(new TraceBox(this)),
      stage_box_(new StageBox(workspace, this)) {
  setObjectName("timeline");
  setAccessibleName(tr("Predicted and measured time of one training step"));
  choice_->setObjectName("timelineStep");
  choice_->setToolTip(tr("Which training step is shown: as the rank of the selected device did it."));
  connect(choice_, &QComboBox::currentIndexChanged, this, &TimelinePage::take_measurements);
  connect(&workspace.selection, &Selection::deviceChanged, this, &TimelinePage::take_stage);
  connect(&workspace.planner, &Planner::delivered, this, &TimelinePage::take_plan);
  connect(&workspace.run, &RunControl::received, this, &TimelinePage::take_measurements);
  connect(&workspace.selection, &Selection::stepChanged, this, qOverload<>(&QWidget::update));
  take_plan();
}

// A page that is not seen lets its plan go and takes the newest when it is shown.
void TimelinePage::take_plan() {
  const std::shared_ptr<const Plan> plan = isVisible() ? workspace_.planner.plan() : nullptr;
  if (plan_ != plan) {
    plan_ = plan;
    stage_ = -1;
    lanes_.clear();
    phases_.clear();
    set_seconds(0);
  }
  take_stage();
}

void TimelinePage::take_stage() {
  if (plan_ && stage_ != shown_stage(*plan_, workspace_.selection)) {
    stage_ = shown_stage(*plan_, workspace_.selection);
    PredictedTimeline predicted = predict(*plan_, stage_);
    predicted_seconds_ = std::max(predicted.seconds, 1e-9);
    lanes_.clear();
    lanes_.push_back({tr("local work"), std::move(predicted.compute), false});
    lanes_.push_back({tr("communication"), std::move(predicted.collectives), false});
    phases_ = std::move(predicted.phases);
    set_seconds(predicted_seconds_);
    show_all();
  }
  take_measurements();
}

void TimelinePage::showEvent(QShowEvent*) { take_plan(); }

void TimelinePage::take_measurements() {
  lanes_.resize(std::min<size_t>(lanes_.size(), 2));
  update();
  choice_->hide();
  const RunRecord* run = plan_ ? workspace_.matching_run() : nullptr;
  const TraceMessage* trace = run ? run->trace(choice_->choice()) : nullptr;
  if (!trace || trace->ranks.empty()) return;
  const int rank = std::min(workspace_.selection.device().value_or(device_at_stage(*plan_, 0, stage_)),
                            static_cast<int>(trace->ranks.size()) - 1);
  std::optional<MeasuredTimeline> measured = measured_timeline(*plan_, trace->ranks[rank], stage_);
  if (!measured) return;
  set_seconds(std::max(predicted_seconds_, measured->seconds));
  lanes_.push_back({tr("local work"), std::move(measured->compute), true});
  lanes_.push_back({tr("communication"), std::move(measured->collectives), true});
  lanes_.push_back({tr("waiting"), std::move(measured->waiting), true});
  measured_of_ = tr("training step %1, rank %2").arg(trace->step).arg(rank);
  place_choice();
}

void TimelinePage::place_choice() {
  const QSize box = stage_box_->sizeHint();
  stage_box_->setGeometry(QRect(QPoint(8, 8), box));
  const bool is_shown = lanes_.size() > 2;
  choice_->setVisible(is_shown);
  if (!is_shown) return;
  const QSize size = choice_->sizeHint();
  choice_->setGeometry(QRect(QPoint(int(left), int(lane_place(2).top()) - size.height() - 4), size));
}

void TimelinePage::resizeEvent(QResizeEvent*) { place_choice(); }

QRectF TimelinePage::lane_place(size_t lane) const {
  const double group = lane >= 2 ? 44 : 0;
  const double lane_height = std::clamp((height() - top - 100) / 5 - lane_gap, 30.0, 68.0);
  return QRectF(left, top + double(lane) * (lane_height + lane_gap) + group, std::max(20.0, width() - left - right),
                lane_height);
}

void TimelinePage::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!plan_) return paint_no_plan(painter, rect(), workspace_.planner);
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  painter.setFont(small_font());
  painter.setPen(theme().muted);
  if (stage_box_->isHidden())
    painter.drawText(QRectF(0, 14, left - 14, 18), Qt::AlignRight | Qt::AlignVCenter, tr("one training step"));
  paint_ruler(painter, 14, lane_place(lanes_.size() - 1).bottom());
  paint_phases(painter);
  for (size_t lane = 0; lane < lanes_.size(); ++lane) paint_lane(painter, lane);
  painter.setPen(theme().muted);
  if (choice_->isVisible())
    painter.drawText(QRectF(choice_->geometry().right() + 10, choice_->y(), width(), choice_->height()),
                     Qt::AlignLeft | Qt::AlignVCenter, measured_of_);
  const QRectF last = lane_place(lanes_.size() - 1);
  const QString hint = lanes_.size() > 2 ? tr("Wheel: zoom. Drag: pan. Double click: all.")
                                         : tr("Train to see the measured lanes beneath. Wheel: zoom. Drag: pan.");
  painter.drawText(QRectF(left, last.bottom() + 10, last.width(), 44), Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                   hint);
}

void TimelinePage::paint_phases(QPainter& painter) const {
  const QRectF lane = lane_place(0);
  const double scale = lane.width() / (end() - begin());
  painter.setPen(theme().muted);
  painter.drawText(QRectF(0, top - 30, left - 14, 16), Qt::AlignRight | Qt::AlignVCenter, tr("predicted phases"));
  for (const auto& [phase, start, end] : phases_) {
    const double a = std::clamp((start - begin()) * scale, 0.0, lane.width());
    const double b = std::clamp((end - begin()) * scale, 0.0, lane.width());
    if (b - a < 0.5) continue;
    const QColor fill = phase_color(phase, theme());
    const QRectF place(lane.x() + a, top - 30, b - a, 16);
    painter.fillRect(place, fill);
    painter.setPen(text_on(fill));
    const QString title = qt(name(phase));
    if (painter.fontMetrics().horizontalAdvance(title) + 8 < place.width())
      painter.drawText(place, Qt::AlignCenter, title);
  }
}

void TimelinePage::paint_lane(QPainter& painter, size_t index) const {
  const Lane& lane = lanes_[index];
  const QRectF place = lane_place(index);
  painter.fillRect(place, theme().window);
  painter.setPen(theme().text);
  painter.drawText(QRectF(0, place.y(), left - 14, place.height() / 2), Qt::AlignRight | Qt::AlignBottom, lane.title);
  painter.setPen(theme().muted);
  painter.drawText(QRectF(0, place.center().y(), left - 14, place.height() / 2), Qt::AlignRight | Qt::AlignTop,
                   (lane.measured ? tr("measured %1") : tr("predicted %1")).arg(qt(seconds_text(lane.slices.seconds))));
  const std::optional<int> selected = position_of(*plan_, workspace_.selection.step(), stage_);
  for (const TimelineBar& bar : visible_bars(lane.slices.slices, begin(), end(), place.width())) {
    const int first = lane.slices.slices[bar.first].step;
    const Step& step = plan_->steps(stage_)[first];
    const QRectF rect(place.x() + bar.x, place.y() + 4, std::max(1.0, bar.width), place.height() - 8);
    const QColor fill = step_color(step.kind, theme());
    painter.fillRect(rect, bar.folded() ? mix(fill, theme().window, 0.35) : fill);
    if (rect.width() > 5) painter.fillRect(QRectF(rect.right() - 1, rect.y(), 1, rect.height()), theme().window);
    if (rect.width() > 60 && !bar.folded()) {
      painter.setPen(text_on(fill));
      const QString text = is_communication(step.kind) ? qt(name(step.kind)) : short_name(plan_->step_name(step));
      painter.drawText(rect.adjusted(5, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter,
                       fitted_name(text, painter.fontMetrics(), rect.width() - 10));
    }
    if (selected >= first && selected <= lane.slices.slices[bar.last].step) {
      painter.setPen(QPen(theme().accent, 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(rect.adjusted(-1, -1, 1, 1));
    }
  }
}

TimelinePage::Hit TimelinePage::hit(const QPointF& point) const {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const QRectF place = lane_place(i);
    if (!place.contains(point)) continue;
    for (const TimelineBar& bar : visible_bars(lanes_[i].slices.slices, begin(), end(), place.width()))
      if (point.x() - place.x() >= bar.x && point.x() - place.x() <= bar.x + std::max(2.0, bar.width))
        return {&lanes_[i], bar};
  }
  return {};
}

QString TimelinePage::tip_at(const QPointF& point) {
  const Hit at = hit(point);
  if (!at.lane) return {};
  const auto& slices = at.lane->slices.slices;
  if (at.bar.folded())
    return tr("%1 steps, %2 to %3\n%4 in all; zoom in to tell them apart")
        .arg(at.bar.last - at.bar.first + 1)
        .arg(qt(plan_->step_name(plan_->steps(stage_)[slices[at.bar.first].step])),
             qt(plan_->step_name(plan_->steps(stage_)[slices[at.bar.last].step])),
             qt(seconds_text(slices[at.bar.last].end - slices[at.bar.first].start)));
  const int position = slices[at.bar.first].step;
  const Step& step = plan_->steps(stage_)[position];
  const double predicted = plan_->seconds(position, stage_);
  QStringList lines{QString("%1 %2").arg(qt(name(step.kind)), qt(plan_->step_name(step)))};
  lines << tr("predicted %1").arg(qt(seconds_text(predicted)));
  if (at.lane->measured)
    lines
        << tr("%1 in this training step").arg(qt(seconds_text(slices[at.bar.first].end - slices[at.bar.first].start)));
  if (const std::optional<double> seconds = workspace_.measured_seconds(step_at(*plan_, position, stage_)))
    lines << tr("measured %1 (%2)").arg(qt(seconds_text(*seconds)), qt(ratio_text(*seconds, predicted)));
  if (step.flops > 0) lines << tr("%1, %2 touched").arg(qt(flops_text(step.flops)), qt(bytes_text(step.bytes_touched)));
  if (is_communication(step.kind)) lines << tr("sent by each device: %1").arg(qt(exact_bytes(step.wire_bytes)));
  if (const QString cause = qt(plan_->cause(step)); !cause.isEmpty()) lines << short_cause(cause);
  return lines.join('\n');
}

void TimelinePage::click(const QPointF& point) {
  const Hit at = hit(point);
  workspace_.selection.select_step(
      at.lane ? std::optional(step_at(*plan_, at.lane->slices.slices[at.bar.first].step, stage_)) : std::nullopt);
}

}  // namespace shardscope
