#include "viz/paint/tone_painter.h"

#include <algorithm>

namespace shardscope {
namespace {

constexpr double narrowest_stripe = 2.5;

QColor neutral(const Theme& theme) { return mix(theme.window, theme.line, 0.6); }

// In equal parts.
template <class ColorOf>
QColor mixture(const std::vector<AxisTone>& tones, const Theme& theme, const ColorOf& color_of) {
  if (tones.empty()) return neutral(theme);
  const int count = static_cast<int>(tones.size());
  int red = count / 2, green = red, blue = red;  // rounds
  for (const AxisTone& tone : tones) {
    const QRgb color = color_of(tone);
    red += qRed(color);
    green += qGreen(color);
    blue += qBlue(color);
  }
  return {red / count, green / count, blue / count};
}

QRectF stripe(const QRectF& place, size_t number, size_t count) {
  const double from = double(number) / double(count), upto = double(number + 1) / double(count);
  if (place.width() * 1.5 >= place.height())
    return {place.x() + from * place.width(), place.y(), (upto - from) * place.width(), place.height()};
  return {place.x(), place.y() + from * place.height(), place.width(), (upto - from) * place.height()};
}

}  // namespace

void paint_tones(QPainter& painter, const QRectF& place, const std::vector<AxisTone>& tones, const Theme& theme) {
  const double longer = std::max(place.width(), place.height());
  if (tones.size() < 2 || longer < narrowest_stripe * double(tones.size()))
    return painter.fillRect(place,
                            mixture(tones, theme, [&](const AxisTone& tone) { return tone_color(tone, theme).rgb(); }));
  for (size_t i = 0; i < tones.size(); ++i)
    painter.fillRect(stripe(place, i, tones.size()), tone_color(tones[i], theme));
}

void paint_tone_labels(QPainter& painter, const QRectF& place, const std::vector<AxisTone>& tones, const Mesh& mesh,
                       const Theme& theme) {
  const QFontMetricsF metrics(painter.font());
  for (size_t i = 0; i < tones.size(); ++i) {
    const QRectF room = stripe(place, i, tones.size()).adjusted(3, 2, -3, -2);
    if (room.height() < (place.width() * 1.5 >= place.height() ? 2.4 : 1.0) * metrics.height()) continue;
    const QString number = QString::number(tones[i].coordinate);
    const QString full = QString::fromStdString(mesh.axes()[tones[i].axis].name) + " " + number;
    const QString& text = metrics.horizontalAdvance(full) <= room.width() ? full : number;
    if (metrics.horizontalAdvance(text) > room.width()) continue;
    painter.setPen(mix(text_on(tone_color(tones[i], theme)), tone_color(tones[i], theme), 0.25));
    painter.drawText(room, Qt::AlignLeft | Qt::AlignBottom, text);
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
  return mixture(tones, theme_, [this](const AxisTone& tone) {
    std::vector<QRgb>& colors = known_[tone.axis];
    colors.resize(size_t(tone.size));
    QRgb& color = colors[size_t(tone.coordinate)];
    if (color == 0) color = tone_color(tone, theme_).rgb();
    return color;
  });
}

}  // namespace shardscope
