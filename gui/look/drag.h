#pragma once

#include <QMouseEvent>
#include <optional>
#include <utility>

namespace shardscope {

// The left button over a picture: what slips no more than a few pixels from press to release is a click, else it is
// dragged. The second press of a double click is not reported as one, so the release that ends it is no click.
class Drag {
 public:
  void press(const QMouseEvent& event) {
    if (event.button() != Qt::LeftButton) return;
    from_ = last_ = event.position();
    is_pressed_ = true;
    is_moved_ = false;
  }
  // By how much since the last move; nothing while it may become a click.
  std::optional<QPointF> move(const QMouseEvent& event) {
    if (!is_pressed_ || !event.buttons().testFlag(Qt::LeftButton)) return std::nullopt;
    is_moved_ |= (event.position() - from_).manhattanLength() > reach;
    if (!is_moved_) return std::nullopt;
    return event.position() - std::exchange(last_, event.position());
  }
  // True: it was a click.
  bool release(const QMouseEvent& event) {
    return event.button() == Qt::LeftButton && std::exchange(is_pressed_, false) && !is_moved_;
  }
  const QPointF& from() const { return from_; }

 private:
  static constexpr int reach = 4;  // pixels

  QPointF from_, last_;
  bool is_pressed_ = false, is_moved_ = false;
};

}  // namespace shardscope
