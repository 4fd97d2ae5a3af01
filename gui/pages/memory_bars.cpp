#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/no_plan.h"
#include "viz/paint/layout_painter.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

constexpr int top = 34;
constexpr int row_height = 20;
constexpr int left = 56;
constexpr int right = 210;
constexpr int most_rows = 64;

QString heading(const Plan& plan) {
  const int devices = plan.mesh.device_count();
  if (devices <= most_rows) return MemoryBars::tr("planned arena at its fullest step");
  const QString text = plan.program.stages > 1
                           ? MemoryBars::tr("planned arena at its fullest step; first %1 of %2 devices")
                           : MemoryBars::tr("planned arena at its fullest step; first %1 of %2 devices, all alike");
  return text.arg(most_rows).arg(devices);
}

const PlanTotals& totals_of(const Plan& plan, int device) {
  return plan.pipeline.totals[static_cast<size_t>(plan.stage_of(device))];
}

double measured_bytes(const RunRecord* run, int device) {
  const RankMeasurement* rank = run ? run->measurement(device) : nullptr;
  return rank ? double(rank->arena_bytes) : 0;
}

}  // namespace

MemoryBars::MemoryBars(Workspace& workspace, QWidget* parent) : TipWidget(parent), workspace_(workspace) {
  setObjectName("memoryBars");
  connect(&workspace.planner, &Planner::delivered, this, [this] {
    setMinimumHeight(sizeHint().height());
    update();
  });
  connect(&workspace.run, &RunControl::received, this, qOverload<>(&QWidget::update));
  connect(&workspace.selection, &Selection::deviceChanged, this, qOverload<>(&QWidget::update));
}

QSize MemoryBars::sizeHint() const {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  return {500, top + (plan ? std::min(plan->mesh.device_count(), most_rows) : 4) * row_height + 8};
}

QRectF MemoryBars::bar_place(int row) const {
  return QRectF(left, top + row * row_height + 3, std::max(40, width() - left - right), row_height - 6);
}

std::optional<int> MemoryBars::device_under(const QPointF& point) const {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const int device = static_cast<int>((point.y() - top) / row_height);
  const bool is_drawn = plan && point.y() >= top && device < std::min(plan->mesh.device_count(), most_rows);
  return is_drawn ? std::optional(device) : std::nullopt;
}

double MemoryBars::widest_bytes() const {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  double widest = std::max<double>(1, double(plan->totals.memory_total));
  if (const RunRecord* run = workspace_.matching_run())
    for (const RankMeasurement& rank : run->measurements()) widest = std::max(widest, double(rank.arena_bytes));
  return widest;
}

MemoryLegend::MemoryLegend(Workspace& workspace, QWidget* parent) : QWidget(parent), workspace_(workspace) {
  setObjectName("memoryLegend");
  setFont(small_font());
  connect(&workspace.planner, &Planner::delivered, this, [this] {
    setFixedHeight(heightForWidth(width()));
    update();
  });
  connect(&workspace.selection, &Selection::deviceChanged, this, qOverload<>(&QWidget::update));
}

template <class Each>
int MemoryLegend::arrange(int width, const Each& each) const {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!plan) return 0;
  constexpr int line = 18;
  const QFontMetrics metrics(small_font());
  int x = left, y = 2;
  const PlanTotals& totals = plan->pipeline.totals[static_cast<size_t>(shown_stage(*plan, workspace_.selection))];
  for (int i = 0; i < memory_category_count; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    const QString text = qt(name(category)) + " " + qt(bytes_text(double(totals.memory[static_cast<size_t>(i)])));
    const int wide = metrics.horizontalAdvance(text) + 20;
    if (x > left && x + wide > width) {
      x = left;
      y += line;
    }
    each(category, QRect(x, y, wide, line), text);
    x += wide + 14;
  }
  return y + line + 4;
}

int MemoryLegend::heightForWidth(int width) const {
  return arrange(width, [](MemoryCategory, const QRect&, const QString&) {});
}

void MemoryLegend::resizeEvent(QResizeEvent*) { setFixedHeight(heightForWidth(width())); }

void MemoryLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  painter.setFont(small_font());
  arrange(width(), [&painter](MemoryCategory category, const QRect& place, const QString& text) {
    painter.fillRect(place.x(), place.y() + 4, 10, 10, category_color(category, theme()));
    painter.setPen(theme().muted);
    painter.drawText(place.adjusted(15, 0, 4, 0), Qt::AlignVCenter, text);
  });
}

void MemoryBars::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!plan) return paint_no_plan(painter, rect(), workspace_.planner);
  painter.setRenderHint(QPainter::Antialiasing);
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  painter.setFont(small_font());
  const RunRecord* run = workspace_.matching_run();
  const double scale = bar_place(0).width() / widest_bytes();
  painter.setPen(theme().muted);
  painter.drawText(QRectF(0, 8, left - 12, 20), Qt::AlignRight | Qt::AlignVCenter, tr("device"));
  painter.drawText(QRectF(left, 8, 420, 20), Qt::AlignLeft | Qt::AlignVCenter, heading(*plan));
  painter.drawText(QRectF(width() - right + 12, 8, 90, 20), Qt::AlignRight | Qt::AlignVCenter, tr("planned"));
  painter.drawText(QRectF(width() - right + 106, 8, 90, 20), Qt::AlignRight | Qt::AlignVCenter, tr("measured"));
  const int rows = std::min(plan->mesh.device_count(), most_rows);
  for (int device = 0; device < rows; ++device) {
    const QRectF place = bar_place(device);
    const PlanTotals& totals = totals_of(*plan, device);
    const bool marked = device == workspace_.selection.device() || device == workspace_.selection.hovered_device();
    if (marked)
      painter.fillRect(QRectF(0, place.y() - 3, width(), row_height), mix(theme().base, theme().accent, 0.14));
    paint_tones(painter, QRectF(left - 18, place.y() + 2, 12, place.height() - 4), device_tones(plan->mesh, device),
                theme());
    painter.setPen(theme().text);
    painter.drawText(QRectF(0, place.y() - 3, left - 24, row_height), Qt::AlignRight | Qt::AlignVCenter,
                     QString::number(device));
    double x = place.x();
    for (int i = 0; i < memory_category_count; ++i) {
      const double bar = double(totals.memory[static_cast<size_t>(i)]) * scale;
      painter.fillRect(QRectF(x, place.y(), bar, place.height()),
                       category_color(static_cast<MemoryCategory>(i), theme()));
      x += bar;
    }
    const double end = place.x() + double(totals.memory_total) * scale;
    if (end > x) {
      painter.setPen(QPen(theme().line, 1));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(QRectF(x, place.y() + 0.5, end - x, place.height() - 1));
    }
    painter.setPen(theme().text);
    painter.drawText(QRectF(width() - right + 12, place.y() - 3, 90, row_height), Qt::AlignRight | Qt::AlignVCenter,
                     qt(bytes_text(double(totals.memory_total))));
    const double measured = measured_bytes(run, device);
    painter.setPen(measured > 0 ? theme().text : theme().muted);
    painter.drawText(QRectF(width() - right + 106, place.y() - 3, 90, row_height), Qt::AlignRight | Qt::AlignVCenter,
                     measured > 0 ? qt(bytes_text(measured)) : QString("\u2013"));
    if (measured > 0) {
      painter.setPen(QPen(theme().text, 2));
      const double at = place.x() + measured * scale;
      painter.drawLine(QPointF(at, place.y() - 2), QPointF(at, place.bottom() + 2));
    }
  }
}

QString MemoryBars::tip_at(const QPointF& point) {
  const std::optional<int> device = device_under(point);
  if (!device) return {};
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const PlanTotals& totals = totals_of(*plan, *device);
  QStringList lines{tr("Device %1: arena of %2").arg(*device).arg(qt(exact_bytes(double(totals.memory_total))))};
  if (plan->program.stages > 1) lines << tr("stage %1 of the pipeline").arg(plan->stage_of(*device));
  for (int i = 0; i < memory_category_count; ++i)
    lines << tr("%1: %2").arg(qt(name(static_cast<MemoryCategory>(i))),
                              qt(exact_bytes(double(totals.memory[static_cast<size_t>(i)]))));
  lines << tr("live at once, at least: %1").arg(qt(exact_bytes(double(totals.live_lower_bound))));
  const double measured = measured_bytes(workspace_.matching_run(), *device);
  if (measured > 0)
    lines << tr("measured: %1 (%2)")
                 .arg(qt(exact_bytes(measured)), qt(ratio_text(measured, double(totals.memory_total))));
  return lines.join('\n');
}

void MemoryBars::mousePressEvent(QMouseEvent* event) {
  if (const std::optional<int> device = device_under(event->position())) workspace_.selection.select_device(*device);
}

}  // namespace shardscope
