#include "viz/paint/layout_painter.h"

#include <algorithm>
#include <map>

namespace shardscope {
namespace {

constexpr double plain_side = 7;  // a cell smaller than this is a fill alone

QColor fill_of(const std::vector<AxisTone>& tones, const Theme& theme) {
  return tones.empty() ? mix(theme.window, theme.line, 0.6) : tone_color(tones.front(), theme);
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

// The fills of many cells: few of them differ, and a colour costs more than a cell.
class Fills {
 public:
  explicit Fills(const Theme& theme) : theme_(theme) {}
  const QColor& operator()(const std::vector<AxisTone>& tones) {
    const auto key = tones.empty() ? std::pair<int, int64_t>(-1, 0)
                                   : std::pair<int, int64_t>(tones.front().axis, tones.front().coordinate);
    QColor& fill = known_[key];
    if (!fill.isValid()) fill = fill_of(tones, theme_);
    return fill;
  }

 private:
  const Theme& theme_;
  std::map<std::pair<int, int64_t>, QColor> known_;
};

double bands_width(const QRectF& place, size_t tones) {
  return tones > 1 ? double(tones - 1) * std::clamp(place.width() * 0.16, 3.0, 14.0) : 0;
}

double widest_range(const QFontMetricsF& metrics, const LayoutPicture& picture) {
  size_t longest = 0;
  std::string text;
  for (const ShardCell* cell : {&picture.cells.front(), &picture.cells.back()})
    if (const std::string range = range_text(cell->box); range.size() > longest) {
      longest = range.size();
      text = range;
    }
  return metrics.horizontalAdvance(QString::fromStdString(text));
}

bool is_plain(const QSizeF& size) { return std::min(size.width(), size.height()) < plain_side; }

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

void paint_ring(QPainter& painter, const QRectF& place, const QColor& color, double width) {
  painter.save();
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(color, width));
  painter.drawRect(place.adjusted(width / 2, width / 2, -width / 2, -width / 2));
  painter.restore();
}

QRectF cell_place(const QRectF& place, const ShardCell& cell) {
  const PictureRect at = place_in(cell.place, {place.x(), place.y(), place.width(), place.height()});
  return {at.x, at.y, at.width, at.height};
}

void paint_array(QPainter& painter, const QRectF& place, const LayoutPicture& picture, const Sharding& sharding,
                 const Mesh& mesh, const Theme& theme) {
  if (!is_plain(cell_place(place, picture.cells.front()).size())) {
    for (size_t i = 0; i < picture.cells.size(); ++i)
      paint_cell(painter, place, picture, static_cast<int>(i), sharding, mesh, theme);
    return;
  }
  Fills fills(theme);
  for (const ShardCell& cell : picture.cells)
    painter.fillRect(cell_place(place, cell), fills(shard_tones(mesh, sharding, cell.devices.front())));
  if (picture.cells.front().devices.size() > 1) paint_hatch(painter, place, theme);
}

void paint_cell(QPainter& painter, const QRectF& place, const LayoutPicture& picture, int number,
                const Sharding& sharding, const Mesh& mesh, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const ShardCell& cell = picture.cells[number];
  const QRectF rect = cell_place(place, cell);
  const QFontMetricsF metrics(painter.font());
  const std::vector<AxisTone> tones = shard_tones(mesh, sharding, cell.devices.front());
  paint_tones(painter, rect, tones, theme);
  if (cell.devices.size() > 1) paint_hatch(painter, rect, theme);
  painter.setPen(QPen(theme.base, rect.width() > 12 && rect.height() > 12 ? 1.5 : 0.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(rect);

  const QRectF inside = rect.adjusted(bands_width(rect, tones.size()), 0, 0, 0);
  const double line = metrics.height() + 4;
  if (inside.height() >= metrics.height()) {
    const QColor fill = fill_of(tones, theme);
    const QColor plate = cell.devices.size() > 1 ? fill : QColor();
    const bool two_lines =
        !cell.box.start.empty() && inside.height() > 2.6 * line && widest_range(metrics, picture) + 12 < inside.width();
    const QRectF upper = two_lines ? inside.adjusted(0, 0, 0, -line) : inside;
    paint_label(painter, upper, QString::fromStdString(device_text(cell.devices)), plate, text_on(fill));
    if (two_lines) {
      const QRectF lower(inside.left(), upper.center().y() + line / 2 + 1, inside.width(), line);
      paint_label(painter, lower, QString::fromStdString(range_text(cell.box)), plate, mix(text_on(fill), fill, 0.25));
    }
  }
  painter.restore();
}

double mesh_cell_pixels(const MeshPicture& picture, const QRectF& place, double largest) {
  return std::min({largest, place.width() / picture.width, place.height() / picture.height});
}

QRectF cell_place(const QPointF& top_left, double cell_pixels, const MeshCell& cell) {
  return {top_left + QPointF(cell.place.x, cell.place.y) * cell_pixels, QSizeF(cell_pixels, cell_pixels)};
}

void paint_mesh(QPainter& painter, const QPointF& top_left, double cell_pixels, const MeshPicture& picture,
                const Mesh& mesh, const Theme& theme) {
  const bool plain = is_plain({cell_pixels, cell_pixels});
  Fills fills(theme);
  for (const MeshCell& cell : picture.cells) {
    const QRectF place = cell_place(top_left, cell_pixels, cell);
    plain ? painter.fillRect(place, fills(device_tones(mesh, cell.device)))
          : paint_cell(painter, place, cell, mesh, theme);
  }
}

void paint_cell(QPainter& painter, const QRectF& place, const MeshCell& cell, const Mesh& mesh, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const double margin = is_plain(place.size()) ? 0 : 1.5;
  const QRectF tile = place.adjusted(margin, margin, -margin, -margin);
  const std::vector<AxisTone> tones = device_tones(mesh, cell.device);
  paint_tones(painter, tile, tones, theme);
  paint_label(painter, tile.adjusted(bands_width(tile, tones.size()), 0, 0, 0), QString::number(cell.device), QColor(),
              text_on(fill_of(tones, theme)));
  painter.restore();
}

}  // namespace shardscope
