#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/pages/memory_page.h"
#include "viz/paint/units.h"

namespace shardscope {

MemoryLife::MemoryLife(Workspace& workspace, QWidget* parent) : QWidget(parent), workspace_(workspace) {
  setObjectName("memoryLife");
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Buffers of the arena over the steps of the program"));
  connect(&workspace.planner, &Planner::delivered, this, &MemoryLife::take_plan);
  connect(&workspace.selection, &Selection::stepChanged, this, qOverload<>(&QWidget::update));
  take_plan();
}

QRectF MemoryLife::body() const { return QRectF(56, 34, std::max(20, width() - 76), std::max(20, height() - 64)); }

void MemoryLife::take_plan() {
  if (plan_ != workspace_.planner.plan()) {
    plan_ = workspace_.planner.plan();
    window_ = whole_life(plan_->arena);
    live_ = live_bytes(plan_->arena);
    rebuild();
  }
  update();
}

void MemoryLife::rebuild() {
  rects_.clear();
  if (plan_) rects_ = visible_buffers(plan_->arena, window_, body().width(), body().height());
  update();
}

void MemoryLife::show_steps(double first, double last) {
  const MemoryWindow all = whole_life(plan_->arena);
  const double span = std::clamp(last - first, std::min(4.0, all.last_step), all.last_step);
  window_.first_step = std::clamp(first, 0.0, all.last_step - span);
  window_.last_step = window_.first_step + span;
  rebuild();
}

void MemoryLife::zoom(double factor, double about) {
  if (!plan_) return;
  show_steps(about - (about - window_.first_step) * factor, about + (window_.last_step - about) * factor);
}

void MemoryLife::paint_axes(QPainter& painter) const {
  const QRectF at = body();
  painter.setFont(small_font());
  painter.setPen(theme().muted);
  painter.drawText(QRectF(at.x(), 8, at.width(), 22), Qt::AlignLeft | Qt::AlignVCenter,
                   tr("Life of the arena: each buffer over the steps of the program"));
  for (int i = 0; i <= 4; ++i) {
    const double part = i / 4.0, y = at.bottom() - part * at.height();
    painter.setPen(QPen(theme().line, 1, i == 0 ? Qt::SolidLine : Qt::DotLine));
    painter.drawLine(QPointF(at.x(), y), QPointF(at.right(), y));
    painter.setPen(theme().muted);
    painter.drawText(QRectF(0, y - 9, at.x() - 6, 18), Qt::AlignRight | Qt::AlignVCenter,
                     qt(bytes_text(std::round(window_.high * part))).section(' ', 0, 0));
    const double step = window_.first_step + part * (window_.last_step - window_.first_step);
    const Qt::Alignment side = i == 0 ? Qt::AlignLeft : i == 4 ? Qt::AlignRight : Qt::AlignHCenter;
    painter.drawText(QRectF(at.x() + part * at.width() -
                                (i == 0   ? 0
                                 : i == 4 ? 100
                                          : 50),
                            at.bottom() + 5, 100, 18),
                     side, i == 0 ? tr("step %1").arg(std::lround(step)) : QString::number(std::lround(step)));
  }
  painter.drawText(QRectF(0, 8, at.x() - 6, 22), Qt::AlignRight | Qt::AlignVCenter,
                   qt(bytes_text(window_.high)).section(' ', 1, 1));
}

void MemoryLife::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!plan_) return;
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  const QRectF at = body();
  paint_axes(painter);
  painter.setClipRect(at);
  for (const BufferRect& rect : rects_) {
    const Buffer& buffer = plan_->arena.buffers[rect.buffer];
    const QColor fill = category_color(buffer.category, theme());
    const QRectF place(at.x() + rect.place.x, at.bottom() - rect.place.bottom(), rect.place.width, rect.place.height);
    painter.fillRect(place, fill);
    if (place.width() > 3 && place.height() > 3) {
      painter.setPen(QPen(mix(fill, theme().base, 0.55), 1));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(place.adjusted(0, 0, -1, -1));
    }
    if (place.width() > 70 && place.height() > 15) {
      painter.setPen(text_on(fill));
      const QString title = qt(plan_->buffer_name(buffer));
      painter.drawText(place.adjusted(5, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter,
                       painter.fontMetrics().elidedText(title, Qt::ElideMiddle, int(place.width()) - 10));
    }
  }
  const std::optional<int> step = position_of(*plan_, workspace_.selection.step());
  if (step && *step >= window_.first_step && *step <= window_.last_step) {
    const double x =
        at.x() + (*step + 0.5 - window_.first_step) / (window_.last_step - window_.first_step + 1) * at.width();
    painter.setPen(QPen(theme().accent, 2));
    painter.drawLine(QPointF(x, at.top()), QPointF(x, at.bottom()));
  }
}

QString MemoryLife::tip_at(const QPointF& point) const {
  const QRectF at = body();
  if (!plan_ || !at.contains(point)) return {};
  const double steps = window_.last_step - window_.first_step + 1;
  const int step = static_cast<int>(window_.first_step + (point.x() - at.x()) / at.width() * steps);
  QString text;
  for (const BufferRect& rect : rects_) {
    if (!rect.place.contains(point.x() - at.x(), at.bottom() - point.y())) continue;
    const Buffer& buffer = plan_->arena.buffers[rect.buffer];
    text = tr("%1 (%2)\n%3 at offset %4\nin use from step %5 to %6\n")
               .arg(qt(plan_->buffer_name(buffer)), qt(name(buffer.category)), qt(exact_bytes(double(buffer.bytes))),
                    qt(exact_number(buffer.offset)))
               .arg(buffer.first)
               .arg(buffer.last);
    break;
  }
  if (step >= 0 && step < static_cast<int>(live_.size())) {
    int64_t live = 0;
    for (int64_t bytes : live_[step]) live += bytes;
    const QString title = qt(plan_->step_name(plan_->steps()[step]));
    text += tr("step %1, %2: %3 in use").arg(step).arg(title, qt(bytes_text(double(live))));
  }
  return text;
}

void MemoryLife::resizeEvent(QResizeEvent*) { rebuild(); }

void MemoryLife::wheelEvent(QWheelEvent* event) {
  const QRectF at = body();
  const double part = std::clamp((event->position().x() - at.x()) / at.width(), 0.0, 1.0);
  zoom(std::pow(0.998, event->angleDelta().y()), window_.first_step + part * (window_.last_step - window_.first_step));
  event->accept();
}

void MemoryLife::mousePressEvent(QMouseEvent* event) {
  dragged_from_ = event->position();
  dragged_window_ = window_;
  const QRectF at = body();
  if (!plan_ || !at.contains(event->position())) return;
  const double steps = window_.last_step - window_.first_step + 1;
  const int step = static_cast<int>(window_.first_step + (event->position().x() - at.x()) / at.width() * steps);
  workspace_.selection.select_step(step_at(*plan_, std::clamp(step, 0, plan_->steps().size() - 1)));
}

void MemoryLife::mouseMoveEvent(QMouseEvent* event) {
  if (!plan_ || !(event->buttons() & Qt::LeftButton)) return;
  const double steps = dragged_window_.last_step - dragged_window_.first_step + 1;
  const double by = (dragged_from_.x() - event->position().x()) / body().width() * steps;
  show_steps(dragged_window_.first_step + by, dragged_window_.last_step + by);
}

void MemoryLife::mouseDoubleClickEvent(QMouseEvent*) {
  if (!plan_) return;
  window_ = whole_life(plan_->arena);
  rebuild();
}

void MemoryLife::keyPressEvent(QKeyEvent* event) {
  const double middle = (window_.first_step + window_.last_step) / 2, span = window_.last_step - window_.first_step;
  switch (event->key()) {
    case Qt::Key_Plus: return zoom(0.7, middle);
    case Qt::Key_Minus: return zoom(1 / 0.7, middle);
    case Qt::Key_Left:
      if (plan_) show_steps(window_.first_step - span / 8, window_.last_step - span / 8);
      return;
    case Qt::Key_Right:
      if (plan_) show_steps(window_.first_step + span / 8, window_.last_step + span / 8);
      return;
    default: QWidget::keyPressEvent(event);
  }
}

bool MemoryLife::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), tip_at(help->pos()), this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace shardscope
