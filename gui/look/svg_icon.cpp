#include "gui/look/svg_icon.h"

#include <QPainter>
#include <QSvgRenderer>

namespace shardscope {

void SvgIcon::paint(QPainter* painter, const QRect& place, QIcon::Mode mode, QIcon::State) {
  const QColor& color = mode == QIcon::Disabled ? disabled_ : normal_;
  QSvgRenderer renderer(QByteArray(svg_).replace("currentColor", color.name().toLatin1()));
  renderer.render(painter, place);
}

QPixmap SvgIcon::pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) {
  QPixmap drawn(size);
  drawn.fill(Qt::transparent);
  QPainter painter(&drawn);
  paint(&painter, drawn.rect(), mode, state);
  return drawn;
}

}  // namespace shardscope
