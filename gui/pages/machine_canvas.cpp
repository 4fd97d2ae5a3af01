#include "gui/pages/machine_canvas.h"

#include <QMouseEvent>
#include <algorithm>

#include "gui/look/appearance.h"
#include "gui/look/in_picture.h"
#include "gui/pages/machine_words.h"
#include "gui/pages/no_plan.h"
#include "viz/paint/tone_painter.h"

namespace shardscope {
namespace {

constexpr int canvas_margin = 10;
constexpr double numbered_side = 18;  // side of a device that has its number

QRectF machine_rect(const PictureRect& place) { return {place.x, place.y, place.width, place.height}; }

}  // namespace

MachineCanvas::MachineCanvas(Workspace& workspace, QWidget* parent) : TipWidget(parent), workspace_(workspace) {
  setObjectName("machineCanvas");
  setAccessibleName(tr("Machine"));
  setMouseTracking(true);
  connect(&workspace.selection, &Selection::deviceChanged, this, &MachineCanvas::arrange);
  connect(&workspace.selection, &Selection::hoverChanged, this, qOverload<>(&QWidget::update));
}

QSize MachineCanvas::minimumSizeHint() const {
  if (!is_in_picture(*this)) return {280, 60};
  return {280, 40 + 60 * std::max(1, plan_ ? int(plan_->machine.levels.size()) : 1)};
}

void MachineCanvas::show_group(const AxisList& axes) {
  axes_ = axes;
  find_members();
  update();
}

void MachineCanvas::find_members() {
  is_member_.assign(plan_ ? size_t(plan_->mesh.device_count()) : 0, false);
  const int device = workspace_.selection.device().value_or(0);
  if (axes_.empty() || device >= std::ssize(is_member_)) return;
  for (int member : plan_->mesh.group(device, {axes_.begin(), axes_.end()})) is_member_[size_t(member)] = true;
}

void MachineCanvas::show_plan(std::shared_ptr<const Plan> plan) {
  if (plan != plan_) axes_ = {};
  plan_ = std::move(plan);
  arrange();
}

void MachineCanvas::arrange() {
  find_members();
  picture_ = {};
  if (plan_) {
    const Topology topology(plan_->machine.levels, plan_->mesh.device_count());
    const QRect place = rect().adjusted(canvas_margin, canvas_margin, -canvas_margin, -canvas_margin);
    picture_ =
        machine_picture(topology, {double(place.x()), double(place.y()), double(place.width()), double(place.height())},
                        QFontMetricsF(small_font()).height() + 6, workspace_.selection.device());
  }
  updateGeometry();
  update();
}

void MachineCanvas::resizeEvent(QResizeEvent*) { arrange(); }

void MachineCanvas::paint_box(QPainter& painter, const MachinePicture::Box& box) const {
  const bool is_inner = box.level == 0;
  painter.setPen(QPen(theme().line, 1));
  painter.setBrush(is_inner ? theme().raised : box.level % 2 ? theme().window : theme().base);
  painter.drawRoundedRect(machine_rect(box.place).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  painter.setPen(theme().muted);
  const QRectF caption = machine_rect(box.caption);
  for (const QString& text : level_captions(*plan_, box.level, box.unit, box.parts)) {
    if (painter.fontMetrics().horizontalAdvance(text) > caption.width()) continue;
    painter.drawText(caption, Qt::AlignLeft | Qt::AlignVCenter, text);
    break;
  }
  if (!box.rest) return;
  paint_plate(painter, machine_rect(*box.rest),
              {tr("%1 more").arg(box.parts - box.drawn), tr("+%1").arg(box.parts - box.drawn)},
              is_inner ? theme().raised : theme().window, theme().muted);
}

void MachineCanvas::paint_device(QPainter& painter, const MachinePicture::Cell& cell) const {
  const QRectF place = machine_rect(cell.place);
  const std::vector<AxisTone> tones = device_tones(plan_->mesh, cell.device);
  paint_tones(painter, place, tones, theme());
  if (place.height() >= numbered_side && place.width() >= numbered_side)
    paint_plate(painter, place, {QString::number(cell.device)}, Qt::transparent, text_on(fill_color(tones, theme())));
  if (is_member_[size_t(cell.device)]) paint_ring(painter, place, theme().text, 2);
  if (workspace_.selection.device() == cell.device) paint_ring(painter, place, theme().accent, 3);
  else if (workspace_.selection.hovered_device() == cell.device) paint_ring(painter, place, theme().accent, 1.5);
}

void MachineCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(rect(), theme().base);
  painter.setFont(small_font());
  if (!plan_) return paint_no_plan(painter, rect(), workspace_.planner);
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  for (const MachinePicture::Box& box : picture_.boxes) paint_box(painter, box);
  for (const MachinePicture::Cell& cell : picture_.devices) paint_device(painter, cell);
}

std::optional<int> MachineCanvas::device_under(const QPointF& point) const {
  for (const MachinePicture::Cell& cell : picture_.devices)
    if (cell.place.contains(point.x(), point.y())) return cell.device;
  return std::nullopt;
}

const MachinePicture::Box* MachineCanvas::box_under(const QPointF& point) const {
  const MachinePicture::Box* innermost = nullptr;
  for (const MachinePicture::Box& box : picture_.boxes)
    if (box.place.contains(point.x(), point.y())) innermost = &box;
  return innermost;
}

void MachineCanvas::mousePressEvent(QMouseEvent* event) {
  if (const std::optional<int> device = device_under(event->position())) workspace_.selection.select_device(device);
}

void MachineCanvas::mouseMoveEvent(QMouseEvent* event) {
  workspace_.selection.hover_device(device_under(event->position()));
}

void MachineCanvas::leaveEvent(QEvent*) { workspace_.selection.hover_device(std::nullopt); }

QString MachineCanvas::tip_at(const QPointF& point) {
  if (!plan_) return {};
  if (const std::optional<int> device = device_under(point)) return machine_device_text(*plan_, *device);
  const MachinePicture::Box* box = box_under(point);
  return box ? level_text(*plan_, box->level) : QString();
}

}  // namespace shardscope
