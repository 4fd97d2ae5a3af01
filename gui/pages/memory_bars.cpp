#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <map>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/in_picture.h"
#include "gui/look/key_help.h"
#include "gui/pages/memory_bars.h"
#include "gui/pages/no_plan.h"
#include "viz/paint/layout_geometry.h"
#include "viz/paint/tone_painter.h"

namespace shardscope {
namespace {

constexpr int first_row_top = 34;
constexpr int device_row_height = 20;
constexpr int legend_left = 56;
constexpr int totals_width = 210;
constexpr int most_rows = 64;

const PlanTotals& totals_of(const Plan& plan, const DeviceRow& row) {
  return plan.pipeline.totals[static_cast<size_t>(row.stage)];
}

QString devices_text(const std::vector<int>& devices) {
  const QString list = qt(device_text(devices));
  return list.size() <= 12 ? list : MemoryBars::tr("%1 devices").arg(devices.size());
}

}  // namespace

std::vector<DeviceRow> equal_devices(const Plan& plan, const RunRecord* run) {
  std::map<std::pair<int, int64_t>, DeviceRow> rows;
  for (int device = 0; device < plan.mesh.device_count(); ++device) {
    const RankMeasurement* rank = run ? run->measurement(device) : nullptr;
    const int64_t measured = rank ? rank->arena_bytes : 0;
    DeviceRow& row = rows[{plan.stage_of(device), measured}];
    row.stage = plan.stage_of(device);
    row.measured = measured;
    row.devices.push_back(device);
  }
  std::vector<DeviceRow> list;
  for (auto& [key, row] : rows) list.push_back(std::move(row));
  std::ranges::sort(list, {}, [](const DeviceRow& row) { return row.devices.front(); });
  return list;
}

MemoryBars::MemoryBars(Workspace& workspace, QWidget* parent) : TipWidget(parent), workspace_(workspace) {
  setObjectName("memoryBars");
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Memory of the devices, those that are alike in one row"));
  set_key_help(this, tr("Memory: devices"), {{tr("Up, Down"), tr("go from device to device")}});
  connect(&workspace.planner, &Planner::delivered, this, &MemoryBars::take_rows);
  connect(&workspace.run, &RunControl::received, this, [this] {
    if (isVisible()) take_rows();
  });
  for (const auto signal : {&Selection::deviceChanged, &Selection::hoverChanged})
    connect(&workspace.selection, signal, this, qOverload<>(&QWidget::update));
  take_rows();
}

void MemoryBars::showEvent(QShowEvent*) { take_rows(); }

void MemoryBars::take_rows() {
  plan_ = workspace_.planner.plan();
  update();
  std::vector<DeviceRow> rows = plan_ ? equal_devices(*plan_, workspace_.matching_run()) : std::vector<DeviceRow>();
  are_all_ = rows.size() <= most_rows || is_in_picture(*this);
  if (!are_all_) rows.resize(most_rows);
  if (rows == rows_) return;
  rows_ = std::move(rows);
  left_ = legend_left;
  const QFontMetrics metrics(small_font());
  for (const DeviceRow& row : rows_) left_ = std::max(left_, metrics.horizontalAdvance(devices_text(row.devices)) + 34);
  setMinimumHeight(sizeHint().height());
  updateGeometry();
  emit rowsChanged();
}

QSize MemoryBars::sizeHint() const {
  return {500, first_row_top + std::max(1, static_cast<int>(rows_.size())) * device_row_height + 8};
}

QSize MemoryBars::minimumSizeHint() const {
  if (!is_in_picture(*this)) return {280, 60};
  return {left_ + QFontMetrics(small_font()).horizontalAdvance(title()) + totals_width, sizeHint().height()};
}

QString MemoryBars::title() const {
  QString text = plan_ && !plan_->stack.runs_here() ? tr("planned peak, as %1 holds it").arg(qt(plan_->stack.name))
                                                    : tr("planned arena at its fullest instruction");
  if (!are_all_) text += tr("; the first %1 rows").arg(most_rows);
  return text;
}

QRectF MemoryBars::bar_place(int row) const {
  return QRectF(left_, first_row_top + row * device_row_height + 3, std::max(40, width() - left_ - totals_width),
                device_row_height - 6);
}

const DeviceRow* MemoryBars::row_under(const QPointF& point) const {
  const int row = static_cast<int>((point.y() - first_row_top) / device_row_height);
  return point.y() >= first_row_top && row < std::ssize(rows_) ? &rows_[static_cast<size_t>(row)] : nullptr;
}

int MemoryBars::marked_row() const {
  const Selection& selection = workspace_.selection;
  for (const std::optional<int> device : {selection.hovered_device(), selection.device()})
    for (size_t row = 0; device && row < rows_.size(); ++row)
      if (std::ranges::binary_search(rows_[row].devices, *device)) return static_cast<int>(row);
  return -1;
}

double MemoryBars::widest_bytes() const {
  constexpr double farthest_limit = 4;  // of what is held; a limit further off is not drawn
  double widest = std::max<double>(1, double(plan_->totals.device_bytes));
  for (const DeviceRow& row : rows_) widest = std::max(widest, double(row.measured));
  const auto limit = double(plan_->memory_limit_bytes);
  return limit < farthest_limit * widest ? std::max(widest, limit) : widest;
}

void MemoryBars::paint_limit(QPainter& painter, double scale) const {
  const double limit = double(plan_->memory_limit_bytes) * scale;
  const QRectF first = bar_place(0), last = bar_place(static_cast<int>(rows_.size()) - 1);
  if (limit <= 0 || limit > first.width() * 1.0001) return;
  const bool fits = plan_->totals.device_bytes <= plan_->memory_limit_bytes;
  painter.setPen(QPen(fits ? theme().muted : theme().error, 2, Qt::DashLine));
  painter.drawLine(QPointF(first.x() + limit, first.top() - 3), QPointF(first.x() + limit, last.bottom() + 3));
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
  int x = legend_left, y = 2;
  const PlanTotals& totals = plan->pipeline.totals[static_cast<size_t>(shown_stage(*plan, workspace_.selection))];
  for (int i = 0; i < memory_category_count; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    const QString text =
        qt(name(category)) + " " + qt(bytes_text(double(totals.device_memory[static_cast<size_t>(i)])));
    const int wide = metrics.horizontalAdvance(text) + 20;
    if (x > legend_left && x + wide > width) {
      x = legend_left;
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
  if (!plan_) return paint_no_plan(painter, rect(), workspace_.planner);
  painter.setRenderHint(QPainter::Antialiasing);
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  painter.setFont(small_font());
  const double scale = bar_place(0).width() / widest_bytes();
  painter.setPen(theme().muted);
  painter.drawText(QRectF(0, 8, left_ - 12, 20), Qt::AlignRight | Qt::AlignVCenter,
                   plan_->mesh.device_count() == 1 ? tr("device") : tr("devices"));
  painter.drawText(QRectF(left_, 8, 420, 20), Qt::AlignLeft | Qt::AlignVCenter, title());
  painter.drawText(QRectF(width() - totals_width + 12, 8, 90, 20), Qt::AlignRight | Qt::AlignVCenter, tr("planned"));
  painter.drawText(QRectF(width() - totals_width + 106, 8, 90, 20), Qt::AlignRight | Qt::AlignVCenter, tr("measured"));
  const int marked = marked_row();
  for (int r = 0; r < std::ssize(rows_); ++r) {
    const DeviceRow& row = rows_[static_cast<size_t>(r)];
    const QRectF place = bar_place(r);
    const PlanTotals& totals = totals_of(*plan_, row);
    if (r == marked)
      painter.fillRect(QRectF(0, place.y() - 3, width(), device_row_height), mix(theme().base, theme().accent, 0.14));
    if (row.devices.size() == 1)
      paint_tones(painter, QRectF(left_ - 18, place.y() + 2, 12, place.height() - 4),
                  device_tones(plan_->mesh, row.devices.front()), theme());
    painter.setPen(theme().text);
    painter.drawText(QRectF(0, place.y() - 3, left_ - (row.devices.size() == 1 ? 24 : 12), device_row_height),
                     Qt::AlignRight | Qt::AlignVCenter, devices_text(row.devices));
    double x = place.x();
    for (int i = 0; i < memory_category_count; ++i) {
      const double bar = double(totals.device_memory[static_cast<size_t>(i)]) * scale;
      painter.fillRect(QRectF(x, place.y(), bar, place.height()),
                       category_color(static_cast<MemoryCategory>(i), theme()));
      x += bar;
    }
    const double end = place.x() + double(totals.device_bytes) * scale;
    if (end > x) {
      painter.setPen(QPen(theme().line, 1));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(QRectF(x, place.y() + 0.5, end - x, place.height() - 1));
    }
    painter.setPen(theme().text);
    painter.drawText(QRectF(width() - totals_width + 12, place.y() - 3, 90, device_row_height),
                     Qt::AlignRight | Qt::AlignVCenter, qt(bytes_text(double(totals.device_bytes))));
    const auto measured = double(row.measured);
    painter.setPen(measured > 0 ? theme().text : theme().muted);
    painter.drawText(QRectF(width() - totals_width + 106, place.y() - 3, 90, device_row_height),
                     Qt::AlignRight | Qt::AlignVCenter, measured > 0 ? qt(bytes_text(measured)) : QString("\u2013"));
    if (measured > 0) {
      painter.setPen(QPen(theme().text, 2));
      const double at = place.x() + measured * scale;
      painter.drawLine(QPointF(at, place.y() - 2), QPointF(at, place.bottom() + 2));
    }
  }
  if (!rows_.empty()) paint_limit(painter, scale);
}

QString MemoryBars::tip_at(const QPointF& point) {
  const DeviceRow* row = row_under(point);
  if (!row) return {};
  const PlanTotals& totals = totals_of(*plan_, *row);
  const QString devices = row->devices.size() == 1 ? tr("Device %1").arg(row->devices.front())
                                                   : tr("Each of devices %1").arg(qt(device_text(row->devices)));
  const QString total = qt(exact_bytes(double(totals.device_bytes)));
  const bool runs_here = plan_->stack.runs_here();
  QStringList lines{runs_here ? tr("%1: arena of %2").arg(devices, total)
                              : tr("%1: %2, as %3 holds it").arg(devices, total, qt(plan_->stack.name))};
  if (plan_->program.stages > 1) lines << tr("stage %1 of the pipeline").arg(row->stage);
  for (int i = 0; i < memory_category_count; ++i)
    lines << tr("%1: %2").arg(qt(name(static_cast<MemoryCategory>(i))),
                              qt(exact_bytes(double(totals.device_memory[static_cast<size_t>(i)]))));
  if (runs_here) lines << tr("live at once, at least: %1").arg(qt(exact_bytes(double(totals.live_lower_bound))));
  else lines << tr("allocator and libraries: %1").arg(qt(exact_bytes(double(totals.allocator_bytes))));
  if (plan_->memory_limit_bytes > 0)
    lines << tr("a device may hold %1 (the dashed line, where it is near)")
                 .arg(qt(exact_bytes(double(plan_->memory_limit_bytes))));
  if (row->measured > 0)
    lines << tr("measured: %1 (%2)")
                 .arg(qt(exact_bytes(double(row->measured))),
                      qt(ratio_text(double(row->measured), double(totals.memory_total))));
  return lines.join('\n');
}

// A row that is clicked again goes to its next device.
void MemoryBars::mousePressEvent(QMouseEvent* event) {
  const DeviceRow* row = row_under(event->position());
  if (!row) return;
  const auto now = std::ranges::find(row->devices, workspace_.selection.device().value_or(-1));
  const bool is_next = now != row->devices.end() && std::next(now) != row->devices.end();
  workspace_.selection.select_device(is_next ? *std::next(now) : row->devices.front());
}

void MemoryBars::keyPressEvent(QKeyEvent* event) {
  const int by = event->key() == Qt::Key_Down ? 1 : event->key() == Qt::Key_Up ? -1 : 0;
  if (by == 0 || rows_.empty()) return QWidget::keyPressEvent(event);
  const int row = std::clamp(marked_row() + by, 0, static_cast<int>(rows_.size()) - 1);
  workspace_.selection.select_device(rows_[static_cast<size_t>(row)].devices.front());
}

}  // namespace shardscope
