#include "viz/paint/mesh_painter.h"

#include <algorithm>
#include <cmath>

#include "engine/base/plural.h"
#include "viz/paint/host_areas.h"
#include "viz/paint/tone_painter.h"

namespace shardscope {
namespace {

constexpr double readable_device = 16;  // pixels
constexpr double readable_tile = 2.5;
constexpr double block_side = 46;     // of a block that has a name
constexpr double smallest_block = 5;  // of one that stands for its devices
constexpr double smallest_host = 8;   // of one that is framed
constexpr double margin = 1.5;

QColor plate_color(const Theme& theme) {
  QColor color = theme.base;
  color.setAlphaF(0.82F);
  return color;
}

void paint_tiles(QPainter& painter, const MeshPlace& at, const MeshPicture& picture, const Mesh& mesh,
                 const Theme& theme) {
  const QRectF seen = painter.clipBoundingRect();
  const double inset = at.cell > 8 ? 1 : at.cell > 5 ? 0.5 : 0;
  Fills fills(theme);
  for (const MeshCell& cell : picture.cells) {
    const QRectF place = at.rect(cell.place).adjusted(inset, inset, -inset, -inset);
    if (!place.intersects(seen)) continue;
    painter.fillRect(place, fills(device_tones(mesh, cell.device)));
  }
}

// Each stands for its devices: in the tones of the axes that tell it from the others.
void paint_as_blocks(QPainter& painter, const MeshPlace& at, const MeshPicture& picture, const Mesh& mesh,
                     const Theme& theme) {
  const QRectF seen = painter.clipBoundingRect();
  for (const MeshBlock& block : blocks_of(picture, mesh, smallest_block / at.cell)) {
    const QRectF place = at.rect(block.place);
    if (!place.intersects(seen)) continue;
    std::vector<AxisTone> tones = device_tones(mesh, picture.cells[block.first_cell].device);
    std::erase_if(tones, [&](const AxisTone& tone) { return tone.axis >= block.axes; });
    paint_tones(painter, place.adjusted(0.5, 0.5, -0.5, -0.5), tones, theme);
  }
}

void paint_block_names(QPainter& painter, const MeshPlace& at, const MeshPicture& picture, const Mesh& mesh,
                       const Theme& theme) {
  const QRectF seen = painter.clipBoundingRect();
  const std::vector<MeshBlock> blocks = blocks_of(picture, mesh, block_side / at.cell);
  if (blocks.size() < 2) return;
  for (const MeshBlock& block : blocks) {
    const QRectF place = at.rect(block.place);
    if (!place.intersects(seen)) continue;
    painter.setPen(QPen(theme.text, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(place);
    const QString name = QString::fromStdString(block.name);
    const QString count = QString::fromStdString(counted(block.cells, "device"));
    paint_plate(painter, place.adjusted(3, 3, -3, -3) & seen,
                {name + ": " + count, name, name.section(", ", -1), name.section(' ', -1)}, plate_color(theme),
                theme.text);
  }
}

// A line wherever neighbours are of different hosts, and a host's name among its devices.
void paint_hosts(QPainter& painter, const MeshPlace& at, const MeshPicture& picture, const std::vector<int>& host_of,
                 const Theme& theme) {
  const QRectF seen = painter.clipBoundingRect();
  const auto point = [&](double x, double y) {
    return QPointF(at.origin.x() + x * at.cell, at.origin.y() + y * at.cell);
  };
  for (const HostArea& area : host_areas(picture, host_of)) {
    if (std::sqrt(area.devices) * at.cell < smallest_host) continue;
    QList<QLineF> border;
    for (const HostArea::Line& line : area.border) border << QLineF(point(line.x1, line.y1), point(line.x2, line.y2));
    painter.setPen(QPen(theme.accent, 1.5));
    painter.drawLines(border);
    const QRectF room = at.rect(area.room) & seen;
    paint_plate(painter, room.adjusted(2, 2, -2, -2),
                {QString("host %1: ").arg(area.host) + QString::fromStdString(counted(area.devices, "device")),
                 QString("host %1").arg(area.host), QString("h%1").arg(area.host)},
                plate_color(theme), theme.accent);
  }
}

}  // namespace

MeshPlace fit(const MeshPicture& picture, const QRectF& room, double largest) {
  const double cell = std::min({largest, room.width() / picture.width, room.height() / picture.height});
  return {{room.center().x() - picture.width * cell / 2, room.top()}, cell};
}

MeshDetail mesh_detail(double cell) {
  return cell >= readable_device ? MeshDetail::devices : cell >= readable_tile ? MeshDetail::hosts : MeshDetail::blocks;
}

void paint_mesh(QPainter& painter, const MeshPlace& at, const MeshPicture& picture, const Mesh& mesh,
                const std::vector<int>& host_of, const Theme& theme) {
  painter.save();
  const QRectF seen = painter.hasClipping() ? painter.clipBoundingRect() : QRectF(painter.viewport());
  painter.setClipRect(seen);
  const MeshDetail detail = mesh_detail(at.cell);
  if (detail == MeshDetail::devices) {
    for (const MeshCell& cell : picture.cells)
      if (at.rect(cell.place).intersects(seen)) paint_device(painter, at.rect(cell.place), cell.device, mesh, theme);
  } else if (detail == MeshDetail::hosts) {
    paint_tiles(painter, at, picture, mesh, theme);
  } else {
    paint_as_blocks(painter, at, picture, mesh, theme);
  }
  if (!host_of.empty()) paint_hosts(painter, at, picture, host_of, theme);
  else if (detail != MeshDetail::devices) paint_block_names(painter, at, picture, mesh, theme);
  painter.restore();
}

void paint_device(QPainter& painter, const QRectF& place, int device, const Mesh& mesh, const Theme& theme) {
  const double inset = place.width() < readable_tile ? 0 : place.width() < readable_device ? 0.5 : margin;
  const QRectF tile = place.adjusted(inset, inset, -inset, -inset);
  const std::vector<AxisTone> tones = device_tones(mesh, device);
  paint_tones(painter, tile, tones, theme);
  if (place.width() < readable_device) return;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  if (place.width() > 3 * readable_device) paint_tone_labels(painter, tile, tones, mesh, theme);
  paint_plate(painter, tile, {QString::number(device)}, QColor(), text_on(fill_color(tones, theme)));
  painter.restore();
}

void paint_mesh_axes(QPainter& painter, const QRectF& shown, const MeshPicture& picture, const Mesh& mesh,
                     const Theme& theme) {
  constexpr double space = 22;
  constexpr double beyond = 20;  // of a narrow picture its words may go
  const QFontMetricsF metrics(painter.font());
  // Names with sizes and how lines are wrapped, or without the latter, or sizes alone: the first that fits.
  const auto parts_of = [&](const std::vector<AxisIndex>& axes, bool turned, int words) {
    QStringList parts;
    for (size_t i = 0; i < axes.size(); ++i) {
      const MeshFold& fold = picture.folds[axes[i]];
      QString part = QString::number(mesh.axes()[axes[i]].size);
      if (words > 0) part.prepend(QString::fromStdString(mesh.axes()[axes[i]].name) + " ");
      if (words > 1 && fold.is_wrapped()) part += QString(" (lines of %1)").arg(fold.across);
      parts << (i ? ", " : "") + part;
    }
    turned ? parts.front().prepend(QString("\u2190 ")) : parts.back().append(QString(" \u2192"));
    return parts;
  };
  // Turned, the text reads upwards: there the arrow that points back points down, as coordinates grow.
  const auto draw = [&](const std::vector<AxisIndex>& axes, const QRectF& place, bool turned) {
    int words = 2;
    QStringList parts = parts_of(axes, turned, words);
    while (words > 0 && metrics.horizontalAdvance(parts.join("")) > place.width())
      parts = parts_of(axes, turned, --words);
    const double all = metrics.horizontalAdvance(parts.join(""));
    if (all > place.width()) return;
    double x = turned ? place.right() - all : place.left();
    for (size_t i = 0; i < axes.size(); ++i) {
      const QString& part = parts[static_cast<qsizetype>(i)];
      painter.setPen(axis_color(axes[i], theme));
      painter.drawText(QRectF(x, place.top(), metrics.horizontalAdvance(part) + 4, place.height()),
                       Qt::AlignLeft | Qt::AlignBottom, part);
      x += metrics.horizontalAdvance(part);
    }
  };
  if (!picture.column_axes.empty())
    draw(picture.column_axes, QRectF(shown.x(), shown.y() - space - 4, shown.width() + beyond, space), false);
  if (picture.row_axes.empty()) return;
  painter.save();
  painter.translate(shown.x() - space - 4, shown.bottom());
  painter.rotate(-90);
  draw(picture.row_axes, QRectF(0, 0, shown.height(), space - 2), true);
  painter.restore();
}

}  // namespace shardscope
