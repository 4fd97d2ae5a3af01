#include "viz/paint/layout_painter.h"

#include <algorithm>

namespace shardscope {
namespace {

bool contains(const std::vector<int>& devices, int device) {
  return std::ranges::find(devices, device) != devices.end();
}

bool any_lit(const std::vector<int>& devices, const std::vector<int>& lit) {
  return std::ranges::any_of(devices, [&](int d) { return contains(lit, d); });
}

QColor fill_of(const std::vector<AxisTone>& tones, const Theme& theme) {
  return tones.empty() ? mix(theme.window, theme.line, 0.6) : tone_color(tones.front(), theme);
}

void paint_ring(QPainter& painter, const QRectF& place, const QColor& color, double width) {
  painter.save();
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(color, width));
  painter.drawRect(place.adjusted(width / 2, width / 2, -width / 2, -width / 2));
  painter.restore();
}

// With a plate of colour `back` behind the text where that is valid.
void paint_label(QPainter& painter, const QRectF& place, const QString& text, const QColor& back, const QColor& ink) {
  const QFontMetricsF metrics(painter.font());
  const QString shown = metrics.elidedText(text, Qt::ElideRight, place.width() - 6);
  if (place.height() < metrics.height() || shown.size() < 1 || (shown != text && shown.size() < 3)) return;
  const QSizeF size(metrics.horizontalAdvance(shown) + 8, metrics.height() + 2);
  const QRectF plate(place.center() - QPointF(size.width(), size.height()) / 2, size);
  painter.save();
  painter.setPen(Qt::NoPen);
  painter.setBrush(back);
  if (back.isValid()) painter.drawRoundedRect(plate, 3, 3);
  painter.setPen(ink);
  painter.drawText(plate, Qt::AlignCenter, shown);
  painter.restore();
}

}  // namespace

void paint_tones(QPainter& painter, const QRectF& place, const std::vector<AxisTone>& tones, const Theme& theme) {
  painter.fillRect(place, fill_of(tones, theme));
  double x = place.left();
  for (size_t i = 1; i < tones.size(); ++i) {
    const double band = std::clamp(place.width() * 0.16, 3.0, 14.0);
    painter.fillRect(QRectF(x, place.top(), band, place.height()), tone_color(tones[i], theme));
    x += band;
  }
}

void paint_hatch(QPainter& painter, const QRectF& place, const Theme& theme) {
  painter.save();
  painter.setClipRect(place, Qt::IntersectClip);
  QColor ink = theme.dark ? QColor(255, 255, 255, 38) : QColor(0, 0, 0, 34);
  painter.setPen(QPen(ink, 1));
  constexpr double pitch = 9;
  for (double x = place.left() - place.height(); x < place.right(); x += pitch)
    painter.drawLine(QPointF(x, place.bottom()), QPointF(x + place.height(), place.top()));
  painter.restore();
}

void paint_array(QPainter& painter, const QRectF& place, const LayoutPicture& picture, const Sharding& sharding,
                 const Mesh& mesh, const DeviceMarks& marks, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const bool dim_others = !marks.lit.empty();
  const QFontMetricsF metrics(painter.font());
  double widest_range = 0;
  for (const ShardCell& cell : picture.cells)
    widest_range = std::max(widest_range, metrics.horizontalAdvance(QString::fromStdString(range_text(cell.box))));
  for (const ShardCell& cell : picture.cells) {
    const PictureRect at = place_in(cell.place, {place.x(), place.y(), place.width(), place.height()});
    const QRectF rect(at.x, at.y, at.width, at.height);
    const std::vector<AxisTone> tones = shard_tones(mesh, sharding, cell.devices.front());
    const bool lit = any_lit(cell.devices, marks.lit);
    painter.setOpacity(dim_others && !lit ? 0.45 : 1);
    paint_tones(painter, rect, tones, theme);
    if (cell.devices.size() > 1) paint_hatch(painter, rect, theme);
    painter.setPen(QPen(theme.base, rect.width() > 12 && rect.height() > 12 ? 1.5 : 0.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect);

    const double band = tones.size() > 1 ? double(tones.size() - 1) * std::clamp(at.width * 0.16, 3.0, 14.0) : 0;
    const QRectF inside = rect.adjusted(band, 0, 0, 0);
    const QColor fill = fill_of(tones, theme);
    const QColor plate = cell.devices.size() > 1 ? fill : QColor();
    const double line = metrics.height() + 4;
    const QString ranges = QString::fromStdString(range_text(cell.box));
    const bool two_lines =
        !cell.box.start.empty() && inside.height() > 2.6 * line && widest_range + 12 < inside.width();
    const QRectF upper = two_lines ? inside.adjusted(0, 0, 0, -line) : inside;
    paint_label(painter, upper, QString::fromStdString(device_text(cell.devices)), plate, text_on(fill));
    if (two_lines) {
      const QRectF lower(inside.left(), upper.center().y() + line / 2 + 1, inside.width(), line);
      paint_label(painter, lower, ranges, plate, mix(text_on(fill), fill, 0.25));
    }
    painter.setOpacity(1);
    if (lit) paint_ring(painter, rect, theme.text, 2);
    if (contains(cell.devices, marks.focus)) paint_ring(painter, rect, theme.accent, 3);
  }
  painter.restore();
}

double mesh_cell_pixels(const MeshPicture& picture, const QRectF& place, double largest) {
  return std::min({largest, place.width() / picture.width, place.height() / picture.height});
}

void paint_mesh(QPainter& painter, const QPointF& top_left, double cell_pixels, const MeshPicture& picture,
                const Mesh& mesh, const DeviceMarks& marks, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const bool dim_others = !marks.lit.empty();
  for (const MeshCell& cell : picture.cells) {
    const QRectF rect(top_left.x() + cell.place.x * cell_pixels, top_left.y() + cell.place.y * cell_pixels, cell_pixels,
                      cell_pixels);
    const QRectF tile = rect.adjusted(1.5, 1.5, -1.5, -1.5);
    const std::vector<AxisTone> tones = device_tones(mesh, cell.device);
    const bool lit = contains(marks.lit, cell.device);
    painter.setOpacity(dim_others && !lit ? 0.45 : 1);
    paint_tones(painter, tile, tones, theme);
    const QColor fill = fill_of(tones, theme);
    const double band = tones.size() > 1 ? double(tones.size() - 1) * std::clamp(tile.width() * 0.16, 3.0, 14.0) : 0;
    paint_label(painter, tile.adjusted(band, 0, 0, 0), QString::number(cell.device), QColor(), text_on(fill));
    painter.setOpacity(1);
    if (lit) paint_ring(painter, tile, theme.text, 2);
    if (cell.device == marks.focus) paint_ring(painter, tile, theme.accent, 3);
  }
  painter.restore();
}

}  // namespace shardscope
