#include <QKeyEvent>
#include <QPainter>
#include <algorithm>
#include <numeric>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/fitted_name.h"
#include "gui/look/in_picture.h"
#include "gui/look/key_help.h"
#include "gui/pages/memory_axes.h"
#include "gui/pages/memory_life.h"
#include "viz/paint/memory_painter.h"

namespace shardscope {
namespace {

constexpr double fewest_steps = 4;
constexpr double fewest_bytes = 4096;

}  // namespace

MemoryLife::MemoryLife(Workspace& workspace, QWidget* parent) : PanZoomCanvas(parent), workspace_(workspace) {
  setObjectName("memoryLife");
  setAccessibleName(tr("Buffers of the arena over the instructions of the program"));
  set_key_help(this, tr("Memory: arena"),
               {{tr("Arrows"), tr("pan")},
                {tr("+, -"), tr("zoom the instructions")},
                {tr("Ctrl++, Ctrl+-"), tr("zoom the bytes")},
                {tr("Home"), tr("show all")}});
  connect(&workspace.planner, &Planner::delivered, this, &MemoryLife::take_plan);
  connect(&workspace.selection, &Selection::deviceChanged, this, &MemoryLife::take_stage);
  connect(&workspace.selection, &Selection::stepChanged, this, qOverload<>(&QWidget::update));
  take_plan();
}

QRectF MemoryLife::body() const { return QRectF(56, 34, std::max(20, width() - 76), std::max(20, height() - 64)); }

// A page that is not seen lets its plan go and takes the newest when it is shown.
void MemoryLife::take_plan() {
  const std::shared_ptr<const Plan> plan = isVisible() ? workspace_.planner.plan() : nullptr;
  if (plan_ != plan) {
    plan_ = plan;
    stage_ = -1;
    take_stage();
    if (!plan_) rebuild();
  }
  update();
}

void MemoryLife::take_stage() {
  if (!plan_ || stage_ == shown_stage(*plan_, workspace_.selection)) return;
  stage_ = shown_stage(*plan_, workspace_.selection);
  window_ = whole_life(arena());
  live_ = live_bytes(arena());
  rebuild();
}

// What is in slots says for how many microbatches.
QString MemoryLife::buffer_text(const Buffer& buffer) const {
  const QString name = qt(plan_->buffer_name(buffer, stage_));
  return buffer.slot_count > 1 ? tr("%1 \u00d7 %2 microbatches").arg(name).arg(buffer.slot_count) : name;
}

void MemoryLife::showEvent(QShowEvent*) { take_plan(); }

void MemoryLife::rebuild() {
  picture_ = plan_ ? lay_out(arena(), window_, body().width(), body().height()) : MemoryPicture();
  drawn_.forget();
  update();
}

void MemoryLife::show_window(MemoryWindow window) {
  const MemoryWindow all = whole_life(arena());
  const auto keep = [](double& first, double& last, double least, double most) {
    const double span = std::clamp(last - first, std::min(least, most), most);
    first = std::clamp(first, 0.0, most - span);
    last = first + span;
  };
  keep(window.first_step, window.last_step, fewest_steps, all.last_step);
  keep(window.low, window.high, fewest_bytes, all.high);
  window_ = window;
  rebuild();
}

// By shares of what is seen.
void MemoryLife::pan(double steps, double bytes) {
  if (!plan_) return;
  const MemoryWindow& from = window_;
  const double by_steps = steps * (from.last_step - from.first_step + 1), by_bytes = bytes * (from.high - from.low);
  show_window({from.first_step + by_steps, from.last_step + by_steps, from.low + by_bytes, from.high + by_bytes});
}

void MemoryLife::paint_axes(QPainter& painter) const {
  const QRectF at = body();
  painter.setFont(small_font());
  painter.setPen(theme().muted);
  const QString title = tr("Life of the arena: each buffer over the instructions of the program");
  const QString hint = tr("Wheel: zoom. Ctrl+wheel: bytes. Drag: pan. Double click: all.");
  const QRectF head(at.x(), 8, at.width(), 22);
  painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter, title);
  if (!is_in_picture(*this) && painter.fontMetrics().horizontalAdvance(title + "    " + hint) < head.width())
    painter.drawText(head, Qt::AlignRight | Qt::AlignVCenter, hint);
  paint_byte_axis(painter, at, window_.low, window_.high);
  paint_instruction_axis(painter, at, at.bottom() + 5, window_.first_step, window_.last_step);
}

void MemoryLife::paint_buffers(QPainter& painter) const {
  const QRectF at(QPointF(), body().size());
  painter.setFont(small_font());
  paint_grain(painter, at, picture_.grain, theme());
  for (const BufferRect& rect : picture_.rects) {
    const Buffer& buffer = arena().buffers[rect.buffer];
    const QColor fill = category_color(buffer.category, theme());
    const QRectF place(rect.place.x, at.bottom() - rect.place.bottom(), rect.place.width, rect.place.height);
    painter.fillRect(place, fill);
    if (place.width() > 3 && place.height() > 3) {
      painter.setPen(QPen(mix(fill, theme().base, 0.55), 1));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(place.adjusted(0, 0, -1, -1));
    }
    if (place.width() > 70 && place.height() > 15) {
      painter.setPen(text_on(fill));
      painter.drawText(place.adjusted(5, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter,
                       fitted_name(buffer_text(buffer), painter.fontMetrics(), int(place.width()) - 10));
    }
  }
}

void MemoryLife::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!plan_) return;
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  const QRectF at = body();
  paint_axes(painter);
  drawn_.show(painter, at, [this](QPainter& to) { paint_buffers(to); });
  painter.setClipRect(at);
  std::optional<int> step = position_of(*plan_, workspace_.selection.step(), stage_);
  if (step) step = folded(sequence(), *step);
  if (step && *step >= window_.first_step && *step <= window_.last_step) {
    const double x =
        at.x() + (*step + 0.5 - window_.first_step) / (window_.last_step - window_.first_step + 1) * at.width();
    painter.setPen(QPen(theme().accent, 2));
    painter.drawLine(QPointF(x, at.top()), QPointF(x, at.bottom()));
  }
}

int MemoryLife::step_under(double x) const {
  const double steps = window_.last_step - window_.first_step + 1;
  const double step = window_.first_step + (x - body().x()) / body().width() * steps;
  return std::clamp(static_cast<int>(step), 0, arena().length - 1);
}

double MemoryLife::bytes_under(double y) const {
  return window_.low + (body().bottom() - y) / body().height() * (window_.high - window_.low);
}

QString MemoryLife::tip_at(const QPointF& point) {
  if (!plan_ || !body().contains(point)) return {};
  const int step = step_under(point.x());
  QString text;
  if (const int found = buffer_at(arena(), step, bytes_under(point.y())); found >= 0) {
    const Buffer& buffer = arena().buffers[found];
    text = tr("%1 (%2)\n%3 at offset %4\nin use from instruction %5 to %6\n")
               .arg(buffer_text(buffer), qt(name(buffer.category)), qt(exact_bytes(double(buffer.bytes))),
                    qt(exact_number(buffer.offset)))
               .arg(buffer.first)
               .arg(buffer.last);
  }
  const CategoryBytes& live = live_[step];
  const auto in_use = std::accumulate(live.begin(), live.end(), int64_t{0});
  const QString title = qt(plan_->instruction_name(plan_->instructions(stage_)[unfolded(sequence(), step)]));
  return text + tr("instruction %1, %2: %3 in use").arg(step).arg(title, qt(bytes_text(double(in_use))));
}

void MemoryLife::resizeEvent(QResizeEvent*) { rebuild(); }

// With Ctrl the bytes, else the steps.
void MemoryLife::zoom_about(double factor, const QPointF& point, Qt::KeyboardModifiers keys) {
  if (!plan_) return;
  const QRectF at = body();
  const auto zoom = [factor](double& first, double& last, double share) {
    const double about = first + std::clamp(share, 0.0, 1.0) * (last - first);
    first = about - (about - first) / factor;
    last = about + (last - about) / factor;
  };
  MemoryWindow window = window_;
  if (keys & Qt::ControlModifier) zoom(window.low, window.high, (at.bottom() - point.y()) / at.height());
  else zoom(window.first_step, window.last_step, (point.x() - at.x()) / at.width());
  show_window(window);
}

void MemoryLife::click(const QPointF& point) {
  if (!plan_ || !body().contains(point)) return;
  workspace_.selection.select_step(step_at(*plan_, unfolded(sequence(), step_under(point.x())), stage_));
}

void MemoryLife::drag(const QPointF& by, const QPointF&) { pan(-by.x() / body().width(), by.y() / body().height()); }

void MemoryLife::show_all() {
  if (plan_) show_window(whole_life(arena()));
}

void MemoryLife::keyPressEvent(QKeyEvent* event) {
  const auto zoom = [&](double factor) { zoom_about(factor, body().center(), event->modifiers()); };
  switch (event->key()) {
    case Qt::Key_Plus: return zoom(1 / 0.7);
    case Qt::Key_Minus: return zoom(0.7);
    case Qt::Key_Left: return pan(-0.125, 0);
    case Qt::Key_Right: return pan(0.125, 0);
    case Qt::Key_Up: return pan(0, 0.125);
    case Qt::Key_Down: return pan(0, -0.125);
    case Qt::Key_Home: return show_all();
    default: QWidget::keyPressEvent(event);
  }
}

}  // namespace shardscope
