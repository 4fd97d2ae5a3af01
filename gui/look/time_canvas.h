#pragma once

#include <QPainter>

#include "gui/look/tip_widget.h"

namespace shardscope {

// A picture over time, of which a window is seen. The wheel zooms about the cursor, dragging and arrow keys pan, + and
// - zoom, Home or a double click shows all.
class TimeCanvas : public TipWidget {
 public:
  explicit TimeCanvas(QWidget* parent = nullptr);

 protected:
  // Between which x the window lies.
  virtual QRectF time_place() const = 0;
  virtual void click(const QPointF& point) = 0;

  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

  // How long it all takes; 0: there is nothing. A window that showed all shows all again.
  void set_seconds(double seconds);
  void show_all() { show_window(0, seconds_); }
  double seconds() const { return seconds_; }
  double begin() const { return begin_; }
  double end() const { return end_; }
  // Times at `y`, and a line at each round one down to `bottom`.
  void paint_ruler(QPainter& painter, double y, double bottom) const;

 private:
  void show_window(double begin, double end);
  void zoom(double factor, double about);

  double seconds_ = 0, begin_ = 0, end_ = 0;
  QPointF dragged_from_;
  double dragged_begin_ = 0, dragged_end_ = 0;
  bool is_dragging_ = false;
};

}  // namespace shardscope
