#include "gui/pages/memory_axes.h"

#include <QObject>
#include <cmath>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "viz/paint/memory_geometry.h"

namespace shardscope {
namespace {

constexpr double mark_pixels = 28;  // between marks, at least

}  // namespace

void paint_byte_axis(QPainter& painter, const QRectF& place, double low, double high) {
  const ByteAxis axis = byte_axis(low, high, std::max(3, int(place.height() / mark_pixels)));
  painter.setPen(theme().muted);
  painter.drawText(QRectF(0, place.top() - 25, place.x() - 6, 20), Qt::AlignRight | Qt::AlignVCenter, qt(axis.unit));
  for (const ByteAxis::Mark& mark : axis.marks) {
    const double y = place.bottom() - (mark.bytes - low) / (high - low) * place.height();
    painter.setPen(QPen(theme().line, 1, mark.bytes == 0 ? Qt::SolidLine : Qt::DotLine));
    painter.drawLine(QPointF(place.x(), y), QPointF(place.right(), y));
    painter.setPen(theme().muted);
    painter.drawText(QRectF(0, y - 9, place.x() - 6, 18), Qt::AlignRight | Qt::AlignVCenter, qt(mark.label));
  }
}

void paint_instruction_axis(QPainter& painter, const QRectF& place, double y, double first, double last) {
  painter.setPen(theme().muted);
  for (int i = 0; i <= 4; ++i) {
    const double part = i / 4.0;
    const long number = std::lround(first + part * (last - first));
    const Qt::Alignment side = i == 0 ? Qt::AlignLeft : i == 4 ? Qt::AlignRight : Qt::AlignHCenter;
    const double before = i == 0 ? 0 : i == 4 ? 100 : 50;
    painter.drawText(QRectF(place.x() + part * place.width() - before, y, 100, 18), side,
                     i == 0 ? QObject::tr("instruction %1").arg(number) : QString::number(number));
  }
}

}  // namespace shardscope
