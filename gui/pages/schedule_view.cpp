#include "gui/pages/schedule_view.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/in_picture.h"
#include "gui/look/key_help.h"
#include "gui/workspace/step_facts.h"

namespace shardscope {
namespace {

constexpr double schedule_left = 112;
constexpr double schedule_right = 20;
constexpr double schedule_heading = 30;
constexpr double schedule_ruler = 24;
constexpr double schedule_least_row = 24;
constexpr double schedule_most_row = 46;
constexpr double row_gap = 5;

}  // namespace

ScheduleView::ScheduleView(Workspace& workspace, QWidget* parent)
    : TimeCanvas(parent), workspace_(workspace), choice_(new TraceBox(this)) {
  setObjectName("scheduleView");
  setAccessibleName(tr("Predicted and measured schedule of the pipeline's stages"));
  set_key_help(this, tr("Pipeline"), time_keys());
  choice_->setObjectName("pipelineStep");
  choice_->setToolTip(tr("Which training step is shown: as one device of each stage did it."));
  guard_field(choice_);
  connect(choice_, &QComboBox::currentIndexChanged, this, &ScheduleView::take_measurements);
  connect(&workspace.planner, &Planner::delivered, this, &ScheduleView::take_plan);
  const auto take_if_seen = [this] {
    if (isVisible()) take_measurements();
  };
  connect(&workspace.selection, &Selection::deviceChanged, this, take_if_seen);
  connect(&workspace.run, &RunControl::received, this, take_if_seen);
  connect(&workspace.selection, &Selection::stepChanged, this, qOverload<>(&QWidget::update));
  take_plan();
}

// A page that is not seen lets its plan go and takes the newest when it is shown.
void ScheduleView::take_plan() {
  std::shared_ptr<const Plan> plan = isVisible() ? workspace_.planner.plan() : nullptr;
  if (plan && plan->program.stages < 2) plan = nullptr;
  if (plan_ != plan) {
    plan_ = plan;
    predicted_ = plan_ ? predicted_pipeline(*plan_) : PipelinePicture();
    show_measured(nullptr, 0);
    show_all();
  }
  take_measurements();
}

void ScheduleView::showEvent(QShowEvent*) { take_plan(); }

void ScheduleView::take_measurements() {
  const RunRecord* run = plan_ ? workspace_.matching_run() : nullptr;
  std::shared_ptr<const TraceMessage> trace = run ? run->shared_trace(choice_->choice()) : nullptr;
  const int device = trace ? std::min(workspace_.selection.device().value_or(0), plan_->mesh.device_count() - 1) : 0;
  if (trace != trace_ || device != device_) show_measured(std::move(trace), device);
  update();
}

void ScheduleView::show_measured(std::shared_ptr<const TraceMessage> trace, int device) {
  trace_ = std::move(trace);
  device_ = device;
  measured_ = trace_ ? measured_pipeline(*plan_, trace_->ranks, device_) : std::nullopt;
  set_seconds(std::max(predicted_.seconds, measured_ ? measured_->seconds : 0));
  choice_->setVisible(measured_.has_value());
  updateGeometry();
  place_choice();
  update();
}

void ScheduleView::resizeEvent(QResizeEvent*) { place_choice(); }

void ScheduleView::place_choice() {
  if (!measured_) return;
  const QSize size = choice_->sizeHint();
  choice_->setGeometry(QRect(QPoint(12, int(row_place(0, true).top() - schedule_heading) - 2), size));
}

double ScheduleView::foot_height() const {
  const double wide = width() - schedule_left - schedule_right;
  return plan_ ? 8 + legend_height(legend(), QFontMetricsF(small_font()), wide) + 20 : 0;
}

int ScheduleView::least_height() const {
  const auto rows = double(std::max<size_t>(2, predicted_.rows.size()));
  const double group = schedule_heading + rows * (schedule_least_row + row_gap);
  return static_cast<int>(schedule_ruler + foot_height() + 12 + group * (measured_ ? 2 : 1));
}

double ScheduleView::row_height() const {
  const auto rows = double(std::max<size_t>(1, predicted_.rows.size()));
  return std::clamp((height() - schedule_ruler - foot_height() - 12 - 2 * schedule_heading) / (2 * rows) - row_gap,
                    schedule_least_row, schedule_most_row);
}

QRectF ScheduleView::row_place(int stage, bool measured) const {
  const double pitch = row_height() + row_gap;
  const double group = measured ? schedule_heading + 8 + double(predicted_.rows.size()) * pitch : 0;
  return QRectF(schedule_left, schedule_heading + schedule_ruler + group + stage * pitch,
                std::max(20.0, width() - schedule_left - schedule_right), row_height());
}

QColor ScheduleView::color_of(const TaskRun& run) const {
  const TaskLabel label = label_of(*plan_, run);
  const QColor plain = phase_color(plan_->program.tasks[run.task].phase, theme());
  const QColor fill = label.is_weights ? mix(plain, theme().warning, 0.45) : plain;
  const int chunks = plan_->pipeline.shape.chunks;
  return chunks > 1 ? mix(fill, theme().dark ? theme().text : theme().base, 0.5 * label.chunk / (chunks - 1)) : fill;
}

void ScheduleView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!plan_) return;
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  painter.setFont(small_font());
  const QRectF last = row_place(int(predicted_.rows.size()) - 1, measured_.has_value());
  paint_ruler(painter, schedule_heading, last.bottom());
  paint_headings(painter);
  for (const PipelineRow& row : predicted_.rows) paint_row(painter, row, row_place(row.stage));
  if (measured_)
    for (const PipelineRow& row : measured_->rows) paint_row(painter, row, row_place(row.stage, true));
  paint_foot(painter);
}

QSize ScheduleView::minimumSizeHint() const {
  if (!is_in_picture(*this) || !plan_) return {280, least_height()};
  const QFontMetricsF metrics(small_font());
  const double heads = std::max(metrics.horizontalAdvance(heading()) + 12,
                                measured_ ? metrics.horizontalAdvance(measured_heading()) + after_choice() : 0);
  const double foot = least_legend_width(legend(), metrics) + schedule_left;
  return {int(std::ceil(std::max(heads, foot) + schedule_right)) + 1, least_height()};
}

QString ScheduleView::heading() const {
  return tr("predicted: %1, bubble %2 (equal stages: %3)   |   schedule %4, %5")
      .arg(qt(seconds_text(predicted_.seconds)), qt(share_text(plan_->simulation.bubble)),
           qt(share_text(plan_->pipeline.equal_bubble)), qt(plan_->pipeline.schedule))
      .arg(counted_text(plan_->pipeline.shape.microbatches, "microbatch", "microbatches"));
}

QString ScheduleView::measured_heading() const {
  return tr("measured in training step %1: %2 (%3), bubble %4")
      .arg(trace_->step)
      .arg(qt(seconds_text(measured_->seconds)), qt(ratio_text(measured_->seconds, predicted_.seconds)),
           qt(share_text(measured_->bubble())));
}

int ScheduleView::after_choice() const { return choice_->geometry().right() + 10; }

void ScheduleView::paint_headings(QPainter& painter) const {
  painter.setPen(theme().text);
  painter.drawText(QRectF(12, 4, width() - 12 - schedule_right, schedule_heading - 6), Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(heading(), Qt::ElideRight, int(width() - 12 - schedule_right)));
  if (!measured_) return;
  const double x = after_choice();
  painter.drawText(QRectF(x, choice_->y(), width() - x, choice_->height()), Qt::AlignLeft | Qt::AlignVCenter,
                   measured_heading());
}

std::vector<LegendEntry> ScheduleView::legend() const {
  std::vector<LegendEntry> entries;
  const auto entry = [&](const QColor& fill, const QString& text) {
    entries.push_back({text, [fill](QPainter& painter, const QRectF& box) { painter.fillRect(box, fill); }});
  };
  entry(phase_color(Phase::forward, theme()), tr("F forward"));
  entry(phase_color(Phase::backward, theme()), tr("B backward"));
  const auto splits = [&](const TaskRun& run) { return label_of(*plan_, run).is_weights; };
  const std::vector<TaskRun>& runs = plan_->program.main(0).runs;
  if (const auto found = std::ranges::find_if(runs, splits); found != runs.end())
    entry(color_of(*found), tr("W backward of weights"));
  if (plan_->trains()) entry(phase_color(Phase::update, theme()), tr("update"));
  return entries;
}

void ScheduleView::paint_foot(QPainter& painter) const {
  const QRectF last = row_place(int(predicted_.rows.size()) - 1, measured_.has_value());
  const double y = last.bottom() + 8, wide = width() - schedule_left - schedule_right;
  const double high = legend_height(legend(), QFontMetricsF(small_font()), wide);
  paint_legend(painter, QRectF(schedule_left, y, wide, high), legend());
  if (is_in_picture(*this)) return;
  const QString hint = measured_ ? tr("Wheel: zoom. Drag: pan. Double click: all.")
                                 : tr("Train to see the measured schedule beneath. Wheel: zoom. Drag: pan.");
  painter.setPen(theme().muted);
  painter.drawText(QRectF(schedule_left, y + high, wide, 20), Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(hint, Qt::ElideRight, int(wide)));
}

void ScheduleView::paint_row(QPainter& painter, const PipelineRow& row, const QRectF& place) const {
  painter.fillRect(place, theme().window);
  painter.setPen(theme().text);
  const bool two_lines = place.height() > 30;
  const QRectF title(0, place.y(), schedule_left - 12, two_lines ? place.height() / 2 : place.height());
  painter.drawText(title, Qt::AlignRight | (two_lines ? Qt::AlignBottom : Qt::AlignVCenter),
                   two_lines ? tr("stage %1").arg(row.stage) : tr("stage %1, %2").arg(row.stage).arg(row.device));
  painter.setPen(theme().muted);
  if (two_lines)
    painter.drawText(title.translated(0, place.height() / 2), Qt::AlignRight | Qt::AlignTop,
                     tr("device %1").arg(row.device));
  const Sequence& sequence = plan_->program.main(row.stage);
  const std::optional<StepRef> step = workspace_.selection.step();
  for (const TimelineBar& bar : visible_bars(row.blocks, begin(), end(), place.width())) {
    const TaskRun& run = run_at(sequence, row.blocks[size_t(bar.first)].step);
    const QColor fill = color_of(run);
    const QRectF rect(place.x() + bar.x, place.y() + 2, std::max(1.0, bar.width), place.height() - 4);
    painter.fillRect(rect, bar.folded() ? mix(fill, theme().window, 0.35) : fill);
    if (rect.width() > 4) painter.fillRect(QRectF(rect.right() - 1, rect.y(), 1, rect.height()), theme().window);
    const QString label = qt(label_of(*plan_, run).text);
    if (!bar.folded() && painter.fontMetrics().horizontalAdvance(label) + 4 < rect.width()) {
      painter.setPen(text_on(fill));
      painter.drawText(rect, Qt::AlignCenter, label);
    }
    if (step && step->task == run.task && !bar.folded()) {
      painter.setPen(QPen(theme().accent, 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(rect.adjusted(0, 0, -1, 0));
    }
  }
}

ScheduleView::Hit ScheduleView::hit(const QPointF& point) const {
  for (const bool is_measured : {false, true}) {
    if (!plan_ || (is_measured && !measured_)) break;
    for (const PipelineRow& row : is_measured ? measured_->rows : predicted_.rows) {
      const QRectF place = row_place(row.stage, is_measured);
      if (!place.contains(point)) continue;
      for (const TimelineBar& bar : visible_bars(row.blocks, begin(), end(), place.width()))
        if (point.x() - place.x() >= bar.x && point.x() - place.x() <= bar.x + std::max(2.0, bar.width))
          return {&row, bar, is_measured};
    }
  }
  return {};
}

QString ScheduleView::tip_at(const QPointF& point) {
  const Hit at = hit(point);
  if (!at.row) return {};
  const TimelineSlice& block = at.row->blocks[size_t(at.bar.first)];
  if (at.bar.folded()) return tr("%1 tasks; zoom in to tell them apart").arg(at.bar.last - at.bar.first + 1);
  const TaskRun& run = run_at(plan_->program.main(at.row->stage), block.step);
  const Task& task = plan_->program.tasks[run.task];
  QStringList lines{label_of(*plan_, run).is_repeated ? tr("%1, microbatch %2").arg(qt(task.name)).arg(run.microbatch)
                                                      : qt(task.name)};
  lines << (at.is_measured ? tr("measured on device %1: starts at %2, takes %3").arg(at.row->device)
                           : tr("predicted: starts at %1, takes %2"))
               .arg(qt(seconds_text(block.start)), qt(seconds_text(block.end - block.start)));
  const double before = at.bar.first > 0 ? at.row->blocks[size_t(at.bar.first) - 1].end : 0;
  const Instruction& first = plan_->instructions(at.row->stage)[block.step];
  if (is_transfer(first.kind()))
    lines << tr("waits %1 for: %2")
                 .arg(qt(seconds_text(std::max(0.0, block.start - before))), qt(plan_->instruction_name(first)));
  return lines.join('\n');
}

void ScheduleView::click(const QPointF& point) {
  const Hit at = hit(point);
  if (!at.row) return workspace_.selection.select_step(std::nullopt);
  const StepRef step = step_at(*plan_, at.row->blocks[size_t(at.bar.first)].step, at.row->stage);
  workspace_.selection.select_device(at.row->device);
  workspace_.selection.select_step(step);
}

}  // namespace shardscope
