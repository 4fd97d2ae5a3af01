#include "viz/paint/tone_painter.h"

#include <algorithm>

namespace shardscope {
namespace {

constexpr double smallest_ticked = 14;  // side of a place
constexpr double shortest_tick = 3, thinnest_tick = 2, thickest_tick = 5;

// A tick of the given number along the edge of a place.
QRectF tick(const QRectF& place, const AxisTone& tone, int number) {
  const double side = std::min(place.width(), place.height());
  const double thick = std::clamp(0.07 * side, thinnest_tick, thickest_tick);
  const bool is_across = number % 2 == 0;
  const double edge = is_across ? place.width() : place.height();
  const double length = std::max(shortest_tick, edge / double(tone.size));
  const double from = (edge - length) * double(tone.coordinate) / double(std::max<int64_t>(1, tone.size - 1));
  switch (number) {
    case 0: return {place.x() + from, place.y(), length, thick};
    case 1: return {place.x(), place.y() + from, thick, length};
    case 2: return {place.x() + from, place.bottom() - thick, length, thick};
    default: return {place.right() - thick, place.y() + from, thick, length};
  }
}

}  // namespace

void paint_tones(QPainter& painter, const QRectF& place, const std::vector<AxisTone>& tones, const Theme& theme) {
  constexpr int edges = 4;
  const QColor fill = fill_color(tones, theme);
  painter.fillRect(place, fill);
  if (std::min(place.width(), place.height()) < smallest_ticked) return;
  int number = 0;
  for (const AxisTone& tone : tones)
    if (tone.sign == AxisTone::Sign::tick && number < edges)
      painter.fillRect(tick(place, tone, number++), mix(text_on(fill), fill, 0.25));
}

void paint_tone_labels(QPainter& painter, const QRectF& place, const std::vector<AxisTone>& tones, const Mesh& mesh,
                       const Theme& theme) {
  const QFontMetricsF metrics(painter.font());
  const QRectF room = place.adjusted(6, 5, -6, -5);
  if (room.height() < 2.4 * metrics.height()) return;
  QStringList full, numbers;
  for (const AxisTone& tone : tones) {
    numbers << QString::number(tone.coordinate);
    full << QString::fromStdString(mesh.axes()[tone.axis].name) + " " + numbers.back();
  }
  const QColor fill = fill_color(tones, theme);
  painter.setPen(mix(text_on(fill), fill, 0.25));
  for (const QString& text : {full.join(", "), numbers.join(", ")}) {
    if (metrics.horizontalAdvance(text) > room.width()) continue;
    return painter.drawText(room, Qt::AlignLeft | Qt::AlignBottom, text);
  }
}

void paint_hatch(QPainter& painter, const QRectF& place, const Theme& theme) {
  painter.save();
  painter.setClipRect(place, Qt::IntersectClip);
  const QRectF seen = painter.clipBoundingRect() & place;
  painter.setPen(QPen(theme.dark ? QColor(255, 255, 255, 38) : QColor(0, 0, 0, 34), 1));
  constexpr double pitch = 9;
  for (double x = seen.left() - seen.height(); x < seen.right(); x += pitch)
    painter.drawLine(QPointF(x, seen.bottom()), QPointF(x + seen.height(), seen.top()));
  painter.restore();
}

void paint_plate(QPainter& painter, const QRectF& place, const QStringList& texts, const QColor& back,
                 const QColor& ink) {
  const QFontMetricsF metrics(painter.font());
  if (place.height() < metrics.height()) return;
  for (const QString& text : texts) {
    const QSizeF size(metrics.horizontalAdvance(text) + 8, metrics.height() + 2);
    if (size.width() - 4 > place.width()) continue;
    const QRectF plate(place.center() - QPointF(size.width(), size.height()) / 2, size);
    painter.setPen(Qt::NoPen);
    painter.setBrush(back);
    if (back.isValid()) painter.drawRoundedRect(plate, 3, 3);
    painter.setPen(ink);
    painter.drawText(plate, Qt::AlignCenter, text);
    return;
  }
}

void paint_ring(QPainter& painter, const QRectF& place, const QColor& color, double width) {
  painter.save();
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(color, width));
  painter.drawRect(place.adjusted(width / 2, width / 2, -width / 2, -width / 2));
  painter.restore();
}

QColor Fills::operator()(const std::vector<AxisTone>& tones) {
  std::vector<int64_t> coordinates;
  for (const AxisTone& tone : tones) {
    coordinates.push_back(tone.axis);
    coordinates.push_back(tone.coordinate);
  }
  QColor& color = known_[std::move(coordinates)];
  if (!color.isValid()) color = fill_color(tones, theme_);
  return color;
}

}  // namespace shardscope
