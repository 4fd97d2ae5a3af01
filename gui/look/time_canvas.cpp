#include "gui/look/time_canvas.h"

#include <QCursor>
#include <QKeyEvent>
#include <algorithm>

#include "engine/base/units.h"
#include "gui/look/appearance.h"
#include "viz/paint/ticks.h"

namespace shardscope {

QList<KeyHelp> TimeCanvas::time_keys() {
  return {{tr("W, S, +, -"), tr("zoom")},          {tr("A, D, Left, Right"), tr("pan")},
          {tr("F"), tr("fit what is selected")},   {tr("M"), tr("measure a range")},
          {tr("Escape"), tr("end the measuring")}, {tr("Home"), tr("show all")}};
}

void TimeCanvas::set_seconds(double seconds) {
  const bool showed_all = end_ - begin_ >= seconds_ * 0.999;
  seconds_ = seconds;
  if (showed_all) show_all();
  else show_window(begin_, end_);
}

void TimeCanvas::show_window(double begin, double end) {
  const double span = std::clamp(end - begin, seconds_ * 1e-7, seconds_);
  begin_ = std::clamp(begin, 0.0, seconds_ - span);
  end_ = begin_ + span;
  update();
  emit windowChanged();
}

void TimeCanvas::zoom(double factor, double about) {
  show_window(about - (about - begin_) * factor, about + (end_ - about) * factor);
}

void TimeCanvas::fit() {
  const std::optional<Range> chosen = chosen_range();
  if (!chosen) return show_all();
  const double margin = (chosen->second - chosen->first) * 0.1, span = chosen->second - chosen->first + 2 * margin;
  const bool is_shown = begin_ <= chosen->first && chosen->second <= end_ && end_ - begin_ < span * 1.01;
  if (is_shown) show_all();
  else show_window(chosen->first - margin, chosen->second + margin);
}

void TimeCanvas::set_range(std::optional<Range> range) {
  if (range_ == range) return;
  range_ = range;
  update();
  emit rangeChanged();
}

void TimeCanvas::set_measuring(bool measures) {
  measures_ = measures;
  setCursor(measures ? Qt::IBeamCursor : Qt::ArrowCursor);
}

double TimeCanvas::time_at(double x) const {
  const QRectF place = time_place();
  return begin_ + std::clamp((x - place.x()) / place.width(), 0.0, 1.0) * (end_ - begin_);
}

double TimeCanvas::x_at(double time) const {
  const QRectF place = time_place();
  return place.x() + (time - begin_) / (end_ - begin_) * place.width();
}

// Under the pointer where that is over the picture, else in the middle.
double TimeCanvas::pointed_time() const {
  const QPoint pointer = mapFromGlobal(QCursor::pos());
  return rect().contains(pointer) && pointer.x() >= time_place().x() ? time_at(pointer.x()) : (begin_ + end_) / 2;
}

void TimeCanvas::paint_ruler(QPainter& painter, double y, double bottom) const {
  const QRectF place = time_place();
  const double span = end_ - begin_;
  if (span <= 0) return;
  for (const double at : inner_marks(begin_, end_, static_cast<int>(place.width() / 110) + 1)) {
    const double x = place.x() + (at - begin_) / span * place.width();
    painter.setPen(QPen(theme().line, 1));
    painter.drawLine(QPointF(x, y + 20), QPointF(x, bottom));
    const QString label = QString::fromStdString(seconds_text(at));
    if (x + 4 + painter.fontMetrics().horizontalAdvance(label) > width()) continue;
    painter.setPen(theme().muted);
    painter.drawText(QRectF(x + 4, y, 100, 18), Qt::AlignLeft | Qt::AlignVCenter, label);
  }
}

void TimeCanvas::paint_range(QPainter& painter, double y, double bottom) const {
  if (!range_ || seconds_ <= 0) return;
  const QRectF place = time_place();
  const double left = std::max(place.left(), x_at(range_->first)),
               right = std::min(place.right(), x_at(range_->second));
  if (right < left) return;
  QColor fill = theme().accent;
  fill.setAlphaF(0.14F);
  painter.fillRect(QRectF(left, y, right - left, bottom - y), fill);
  painter.setPen(QPen(theme().accent, 1));
  for (const double x : {left, right}) painter.drawLine(QPointF(x, y), QPointF(x, bottom));
  const QString text = QString::fromStdString(seconds_text(range_->second - range_->first));
  const double wide = painter.fontMetrics().horizontalAdvance(text) + 12;
  const QRectF label(std::clamp((left + right - wide) / 2, place.left(), std::max(place.left(), place.right() - wide)),
                     y, wide, 18);
  painter.fillRect(label, theme().accent);
  painter.setPen(theme().on_accent);
  painter.drawText(label, Qt::AlignCenter, text);
}

void TimeCanvas::zoom_about(double factor, const QPointF& point, Qt::KeyboardModifiers) {
  if (seconds_ > 0) zoom(1 / factor, time_at(point.x()));
}

void TimeCanvas::press(const QMouseEvent& event) {
  marks_ = measures_ || event.modifiers().testFlag(Qt::ShiftModifier);
}

void TimeCanvas::drag(const QPointF& by, const QPointF& to) {
  if (seconds_ <= 0) return;
  if (marks_) {
    const auto [first, last] = std::minmax({time_at(pressed_at().x()), time_at(to.x())});
    return set_range(Range(first, last));
  }
  const double time = by.x() / time_place().width() * (end_ - begin_);
  show_window(begin_ - time, end_ - time);
}

void TimeCanvas::keyPressEvent(QKeyEvent* event) {
  if (seconds_ <= 0 || (event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier)))
    return QWidget::keyPressEvent(event);
  const double span = end_ - begin_;
  switch (event->key()) {
    case Qt::Key_A:
    case Qt::Key_Left: return show_window(begin_ - span / 8, end_ - span / 8);
    case Qt::Key_D:
    case Qt::Key_Right: return show_window(begin_ + span / 8, end_ + span / 8);
    case Qt::Key_W:
    case Qt::Key_Plus: return zoom(0.7, pointed_time());
    case Qt::Key_S:
    case Qt::Key_Minus: return zoom(1 / 0.7, pointed_time());
    case Qt::Key_F: return fit();
    case Qt::Key_M: return set_range(chosen_range().value_or(Range(begin_, end_)));
    case Qt::Key_Home: return show_all();
    case Qt::Key_Escape:
      if (range_) return set_range(std::nullopt);
      [[fallthrough]];
    default: QWidget::keyPressEvent(event);
  }
}

}  // namespace shardscope
