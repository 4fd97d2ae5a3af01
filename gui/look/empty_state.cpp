#include "gui/look/empty_state.h"

#include "gui/look/appearance.h"

namespace shardscope {

void paint_empty_state(QPainter& painter, const QRect& place, const QString& title, const QString& advice) {
  painter.save();
  QFont font = painter.font();
  font.setPointSizeF(font.pointSizeF() * 1.15);
  font.setBold(true);
  painter.setFont(font);
  const int line = painter.fontMetrics().height();
  const QRect column = place.adjusted(24, 0, -24, 0);
  const int middle = place.center().y();
  painter.setPen(theme().muted);
  painter.drawText(QRect(column.left(), middle - 2 * line, column.width(), 2 * line),
                   Qt::AlignHCenter | Qt::AlignBottom | Qt::TextWordWrap, title);
  font.setBold(false);
  font.setPointSizeF(font.pointSizeF() / 1.15);
  painter.setFont(font);
  painter.drawText(QRect(column.left(), middle + 6, column.width(), 4 * line),
                   Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, advice);
  painter.restore();
}

}  // namespace shardscope
