#include "gui/pages/memory_axes.h"

#include <QObject>
#include <algorithm>
#include <cmath>
#include <vector>

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

// As many numbers as stand beside each other.
void paint_instruction_axis(QPainter& painter, const QRectF& place, double y, double first, double last) {
  struct Label {
    QString text;
    double left = 0, right = 0;
  };
  constexpr double gap = 6;
  const auto labels = [&](int parts) {
    std::vector<Label> all;
    for (int i = 0; i <= parts; ++i) {
      const long number = std::lround(first + (last - first) * i / parts);
      const QString text = i == 0 ? QObject::tr("instruction %1").arg(number) : QString::number(number);
      const double width = painter.fontMetrics().horizontalAdvance(text);
      const double left = place.x() + place.width() * i / parts - (i == 0 ? 0 : i == parts ? width : width / 2);
      all.push_back({text, left, left + width});
    }
    return all;
  };
  const auto meet = [](const Label& one, const Label& next) { return one.right + gap > next.left; };
  std::vector<Label> shown = labels(4);
  for (const int fewer : {2, 1})
    if (std::ranges::adjacent_find(shown, meet) != shown.end()) shown = labels(fewer);
  if (std::ranges::adjacent_find(shown, meet) != shown.end()) shown.pop_back();
  painter.setPen(theme().muted);
  for (const Label& label : shown)
    painter.drawText(QRectF(label.left, y, label.right - label.left + 1, 18), Qt::AlignLeft, label.text);
}

}  // namespace shardscope
