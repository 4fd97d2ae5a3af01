#include "gui/look/time_canvas.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/look/appearance.h"
#include "viz/paint/units.h"

namespace shardscope {

TimeCanvas::TimeCanvas(QWidget* parent) : TipWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

void TimeCanvas::set_seconds(double seconds) {
  const bool showed_all = end_ - begin_ >= seconds_ * 0.999;
  seconds_ = seconds;
  if (showed_all) show_all();
  else show_window(begin_, end_);
}

void TimeCanvas::show_window(double begin, double end) {
  const double span = std::clamp(end - begin, seconds_ * 1e-6, seconds_);
  begin_ = std::clamp(begin, 0.0, seconds_ - span);
  end_ = begin_ + span;
  update();
}

void TimeCanvas::zoom(double factor, double about) {
  show_window(about - (about - begin_) * factor, about + (end_ - about) * factor);
}

void TimeCanvas::paint_ruler(QPainter& painter, double y, double bottom) const {
  const QRectF place = time_place();
  const double span = end_ - begin_;
  if (span <= 0) return;
  const double rough = span / std::max(2.0, place.width() / 110);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
  for (double at = std::ceil(begin_ / step) * step; at <= end_; at += step) {
    const double x = place.x() + (at - begin_) / span * place.width();
    painter.setPen(QPen(theme().line, 1));
    painter.drawLine(QPointF(x, y + 20), QPointF(x, bottom));
    const QString label = QString::fromStdString(seconds_text(at));
    if (x + 4 + painter.fontMetrics().horizontalAdvance(label) > width()) continue;
    painter.setPen(theme().muted);
    painter.drawText(QRectF(x + 4, y, 100, 18), Qt::AlignLeft | Qt::AlignVCenter, label);
  }
}

void TimeCanvas::wheelEvent(QWheelEvent* event) {
  if (seconds_ <= 0) return event->ignore();
  const QRectF place = time_place();
  const double along = std::max(0.0, event->position().x() - place.x()) / place.width();
  zoom(std::pow(0.998, event->angleDelta().y()), begin_ + along * (end_ - begin_));
  event->accept();
}

void TimeCanvas::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  dragged_from_ = event->position();
  dragged_begin_ = begin_;
  dragged_end_ = end_;
  is_dragging_ = false;
}

void TimeCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & Qt::LeftButton) || seconds_ <= 0) return;
  const double pixels = dragged_from_.x() - event->position().x();
  is_dragging_ |= std::abs(pixels) > 3;
  const double by = pixels / time_place().width() * (dragged_end_ - dragged_begin_);
  if (is_dragging_) show_window(dragged_begin_ + by, dragged_end_ + by);
}

void TimeCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (!is_dragging_ && seconds_ > 0) click(event->position());
}

void TimeCanvas::mouseDoubleClickEvent(QMouseEvent*) { show_all(); }

void TimeCanvas::keyPressEvent(QKeyEvent* event) {
  if (seconds_ <= 0) return QWidget::keyPressEvent(event);
  const double span = end_ - begin_;
  switch (event->key()) {
    case Qt::Key_Left: return show_window(begin_ - span / 8, end_ - span / 8);
    case Qt::Key_Right: return show_window(begin_ + span / 8, end_ + span / 8);
    case Qt::Key_Plus: return zoom(0.7, begin_ + span / 2);
    case Qt::Key_Minus: return zoom(1 / 0.7, begin_ + span / 2);
    case Qt::Key_Home: return show_all();
    default: QWidget::keyPressEvent(event);
  }
}

}  // namespace shardscope
