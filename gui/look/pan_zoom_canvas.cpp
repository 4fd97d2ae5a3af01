#include "gui/look/pan_zoom_canvas.h"

#include <QWheelEvent>
#include <cmath>

namespace shardscope {

PanZoomCanvas::PanZoomCanvas(QWidget* parent) : TipWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

void PanZoomCanvas::wheelEvent(QWheelEvent* event) {
  zoom_about(std::pow(1.002, event->angleDelta().y()), event->position(), event->modifiers());
  event->accept();
}

void PanZoomCanvas::mousePressEvent(QMouseEvent* event) {
  if (focusPolicy() != Qt::NoFocus) setFocus(Qt::MouseFocusReason);
  drag_.press(*event);
  press(*event);
}

void PanZoomCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!event->buttons().testFlag(Qt::LeftButton)) return hover(event->position());
  if (const std::optional<QPointF> by = drag_.move(*event)) drag(*by, event->position());
}

void PanZoomCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (drag_.release(*event)) click(event->position());
}

}  // namespace shardscope
