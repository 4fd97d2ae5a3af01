#pragma once

#include <QPainter>
#include <optional>
#include <utility>

#include "gui/look/key_help.h"
#include "gui/look/pan_zoom_canvas.h"

namespace shardscope {

// A picture over time, of which a window is seen. The wheel zooms about the cursor, W and S (or + and -) about it too;
// dragging, A and D and the arrow keys pan; F (Home, a double click) shows all, or what fits the picture better. A drag
// with Shift, or any while it measures, marks a range of time; M marks what is selected, or what is seen; Escape takes
// the range away. As in Perfetto, where these keys are the same.
class TimeCanvas : public PanZoomCanvas {
  Q_OBJECT
 public:
  using Range = std::pair<double, double>;  // seconds, ascending

  using PanZoomCanvas::PanZoomCanvas;

  double begin() const { return begin_; }
  double end() const { return end_; }
  double seconds() const { return seconds_; }
  const std::optional<Range>& range() const { return range_; }
  void set_range(std::optional<Range> range);
  void show_window(double begin, double end);
  void zoom(double factor, double about);
  void show_all() override { show_window(0, seconds_); }
  // The next drags mark ranges, also without Shift.
  void set_measuring(bool measures);

 signals:
  void windowChanged();
  void rangeChanged();

 protected:
  // What keyPressEvent() takes, for set_key_help().
  static QList<KeyHelp> time_keys();

  // Between which x the window is.
  virtual QRectF time_place() const = 0;
  // What F shows and M marks; nothing: all that there is, and what is seen.
  virtual std::optional<Range> chosen_range() const { return std::nullopt; }

  void zoom_about(double factor, const QPointF& point, Qt::KeyboardModifiers) override;
  void drag(const QPointF& by, const QPointF& to) override;
  void press(const QMouseEvent& event) override;
  void keyPressEvent(QKeyEvent* event) override;

  // How long it all takes; 0: there is nothing. A window that showed all shows all again.
  void set_seconds(double seconds);
  double time_at(double x) const;
  double x_at(double time) const;
  // Times at `y`, and a line at each round one down to `bottom`.
  void paint_ruler(QPainter& painter, double y, double bottom) const;
  // The marked range from `y` down to `bottom`, with its length.
  void paint_range(QPainter& painter, double y, double bottom) const;

 private:
  void fit();
  double pointed_time() const;

  double seconds_ = 0, begin_ = 0, end_ = 0;
  std::optional<Range> range_;
  bool marks_ = false, measures_ = false;  // this drag, and the next
};

}  // namespace shardscope
