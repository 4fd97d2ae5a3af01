#include "gui/look/kept_picture.h"

#include <QPaintEngine>

#include "gui/look/appearance.h"

namespace shardscope {

void KeptPicture::show(QPainter& painter, const QRectF& place, const std::function<void(QPainter&)>& paint) {
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
  if (pixels_.size() != size || pixels_.devicePixelRatio() != ratio || theme_ != &theme()) {
    theme_ = &theme();
    pixels_ = QPixmap(size);
    pixels_.setDevicePixelRatio(ratio);
    pixels_.fill(Qt::transparent);
    QPainter once(&pixels_);
    paint(once);
  }
  painter.drawPixmap(place.topLeft(), pixels_);
}

}  // namespace shardscope
