#include "gui/look/kept_picture.h"

#include <QPaintEngine>

#include "gui/look/appearance.h"

namespace shardscope {

void KeptPicture::show(QPainter& painter, const QRectF& place, const std::function<void(QPainter&)>& paint,
                       const QColor& ground) {
  if (painter.paintEngine()->type() == QPaintEngine::Picture) {
    painter.save();
    painter.translate(place.topLeft());
    paint(painter);
    painter.restore();
    return;
  }
  const double ratio = painter.device()->devicePixelRatioF();
  const QSize size = (place.size() * ratio).toSize();
  if (size.isEmpty()) return;
  if (!is_painted_ || pixels_.size() != size || pixels_.devicePixelRatio() != ratio || theme_ != &theme()) {
    is_painted_ = true;
    theme_ = &theme();
    if (pixels_.size() != size) pixels_ = QPixmap(size);
    pixels_.setDevicePixelRatio(ratio);
    pixels_.fill(ground);
    QPainter once(&pixels_);
    paint(once);
  }
  painter.drawPixmap(place.topLeft(), pixels_);
}

}  // namespace shardscope
