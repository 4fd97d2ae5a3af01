#include "viz/paint/layout_painter.h"

#include <algorithm>

namespace shardscope {
namespace {

constexpr double plain_side = 7;  // a cell smaller than this is a fill alone

QRectF placed(const QRectF& place, const PictureRect& inner) {
  const PictureRect at = place_in(inner, {place.x(), place.y(), place.width(), place.height()});
  return {at.x, at.y, at.width, at.height};
}

// Its ranges above a page, where the page is wide enough and the gap above it high enough for them.
void paint_page(QPainter& painter, const QRectF& page, const QString& label, double gap, const Theme& theme) {
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.muted, 1));
  painter.drawRect(page);
  const QFontMetricsF metrics(painter.font());
  if (metrics.horizontalAdvance(label) > page.width() || metrics.height() > gap) return;
  painter.drawText(QRectF(page.x(), page.y() - metrics.height() - 1, page.width() + 4, metrics.height()),
                   Qt::AlignLeft | Qt::AlignBottom, label);
}

// What is free above a page; above those of the first line the caller leaves room.
double page_gap(const QRectF& place, const LayoutPicture& picture) {
  const double first = picture.pages.front().place.y;
  for (const ArrayPage& page : picture.pages)
    if (page.place.y > first) return (page.place.y - picture.pages.front().place.bottom()) * place.height();
  return place.height();
}

// The ranges of a cell in at most `lines` lines as wide as `width`; none where they need more. The last cell's numbers
// are the widest, and all cells have theirs alike.
QStringList range_lines(const LayoutPicture& picture, const ShardCell& cell, int lines, double width,
                        const QFontMetricsF& metrics) {
  const auto cut = [](const Box& box, int parts) {
    const QStringList dims = QString::fromStdString(range_text(box)).split(", ");
    QStringList cut;
    for (qsizetype i = 0; i < parts; ++i) {
      const qsizetype begin = dims.size() * i / parts, end = dims.size() * (i + 1) / parts;
      cut << dims.mid(begin, end - begin).join(", ") + (i + 1 < parts ? "," : "");
    }
    return cut;
  };
  const auto fits = [&](const QString& text) { return metrics.horizontalAdvance(text) + 12 < width; };
  const int most = std::min(lines, static_cast<int>(cell.box.start.size()));
  for (int parts = 1; parts <= most; ++parts)
    if (std::ranges::all_of(cut(picture.cells.back().box, parts), fits)) return cut(cell.box, parts);
  return {};
}

}  // namespace

QRectF cell_place(const QRectF& place, const ShardCell& cell) { return placed(place, cell.place); }

void paint_array(QPainter& painter, const QRectF& place, const LayoutPicture& picture, const Sharding& sharding,
                 const Mesh& mesh, const Theme& theme) {
  const QRectF seen = painter.hasClipping() ? painter.clipBoundingRect() : QRectF(painter.viewport());
  const QSizeF side = cell_place(place, picture.cells.front()).size();
  if (std::min(side.width(), side.height()) >= plain_side) {
    for (size_t i = 0; i < picture.cells.size(); ++i)
      if (cell_place(place, picture.cells[i]).intersects(seen))
        paint_cell(painter, place, picture, static_cast<int>(i), sharding, mesh, theme);
  } else {
    Fills fills(theme);
    for (const ShardCell& cell : picture.cells) {
      const QRectF at = cell_place(place, cell);
      if (!at.intersects(seen)) continue;
      painter.fillRect(at, fills(shard_tones(mesh, sharding, cell.devices.front())));
    }
    if (picture.cells.front().devices.size() > 1) {
      if (picture.pages.empty()) paint_hatch(painter, place, theme);
      for (const ArrayPage& page : picture.pages) paint_hatch(painter, placed(place, page.place), theme);
    }
  }
  for (const ArrayPage& page : picture.pages)
    if (const QRectF at = placed(place, page.place); at.adjusted(0, -20, 0, 0).intersects(seen))
      paint_page(painter, at, QString::fromStdString(page.label), page_gap(place, picture), theme);
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

  const double line = metrics.height() + 4;
  const QColor fill = fill_color(tones, theme), ink = text_on(fill);
  const QColor plate = cell.devices.size() > 1 ? fill : QColor();  // over the hatch
  const bool has_labels = rect.height() > 4 * line && tones.size() > 1;
  const int free_lines = static_cast<int>(rect.height() / line - (has_labels ? 3 : 1.6));
  const QStringList ranges = range_lines(picture, cell, std::min(free_lines, 2), rect.width(), metrics);
  if (has_labels) paint_tone_labels(painter, rect, tones, mesh, theme);
  const QRectF upper = rect.adjusted(0, 0, 0, -line * static_cast<double>(ranges.size()));
  const QString count = QString::fromStdString(device_count_text(cell.devices.size()));
  const QString listed = cell.devices.size() > 64 ? count : QString::fromStdString(device_text(cell.devices));
  paint_plate(painter, upper, {listed, count}, plate, ink);
  QRectF lower(rect.left(), upper.center().y() + line / 2 + 1, rect.width(), line);
  for (const QString& range : ranges) {
    paint_plate(painter, lower, {range}, plate, plate.isValid() ? mix(ink, plate, 0.25) : ink);
    lower.translate(0, line);
  }
  painter.restore();
}

}  // namespace shardscope
