#pragma once

#include <QPainter>
#include <QPixmap>
#include <functional>

#include "viz/paint/palette.h"

namespace shardscope {

// A part of a page that is painted once and shown until it is forgotten, in a theme. It is kept in pixels; a page that
// is recorded for a file gets the shapes themselves, so that SVG and PDF are sharp.
class KeptPicture {
 public:
  void forget() { is_painted_ = false; }
  // In this place of the page; what paints has its origin there. A ground that hides what is below is shown in a
  // fraction of the time that a transparent one takes.
  void show(QPainter& painter, const QRectF& place, const std::function<void(QPainter&)>& paint,
            const QColor& ground = Qt::transparent);

 private:
  QPixmap pixels_;
  bool is_painted_ = false;
  const Theme* theme_ = nullptr;
};

}  // namespace shardscope
