#pragma once

#include "gui/look/drag.h"
#include "gui/look/tip_widget.h"

namespace shardscope {

// A picture larger than its widget: the wheel zooms about the cursor, dragging pans, a click chooses, a double click
// shows all. What these mean in the picture is said by those who inherit.
class PanZoomCanvas : public TipWidget {
  Q_OBJECT
 public:
  explicit PanZoomCanvas(QWidget* parent);
  virtual void show_all() = 0;

 protected:
  // Above 1 it enlarges. `keys`: that are held.
  virtual void zoom_about(double factor, const QPointF& point, Qt::KeyboardModifiers keys) = 0;
  // By so many pixels since the last time, to where the cursor is.
  virtual void drag(const QPointF& by, const QPointF& to) = 0;
  virtual void click(const QPointF& point) = 0;
  virtual void double_click(const QPointF&) { show_all(); }
  virtual void press(const QMouseEvent&) {}  // which may become a click or a drag
  virtual void hover(const QPointF&) {}      // without a button
  const QPointF& pressed_at() const { return drag_.from(); }

  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override { double_click(event->position()); }

 private:
  Drag drag_;
};

}  // namespace shardscope
