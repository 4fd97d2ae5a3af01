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
  void forget() { pixels_ = {}; }
  // In this place of the page; what paints has its origin there.
  void show(QPainter& painter, const QRectF& place, const std::function<void(QPainter&)>& paint);

 private:
  QPixmap pixels_;
  const Theme* theme_ = nullptr;
};

}  // namespace shardscope
