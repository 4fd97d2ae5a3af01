#include "gui/pages/layout_words.h"

#include <algorithm>
#include <numeric>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "viz/paint/tone_painter.h"

namespace shardscope {
namespace {

// The fills along an axis, from its first coordinate to its last.
void paint_scale(QPainter& painter, const QRectF& box, const AxisTone& last) {
  constexpr int64_t most = 5;
  const int64_t parts = std::min(last.size, most);
  for (int64_t part = 0; part < parts; ++part) {
    AxisTone tone = last;
    tone.coordinate = part * (last.size - 1) / (parts - 1);
    painter.fillRect(QRectF(box.x() + double(part) * box.width() / double(parts), box.y(), box.width() / double(parts),
                            box.height()),
                     fill_color({tone}, theme()));
  }
}

QString dimensions_text(const Shape& shape, const std::vector<int>& dims) {
  if (dims.empty()) return shape.empty() ? QObject::tr("scalar") : QString();
  QStringList numbers;
  for (int d : dims) numbers << QString::number(d);
  return QObject::tr("dim %1: %2").arg(numbers.join(QString(" \u00d7 ")), qt(dimension_text(shape, dims)));
}

}  // namespace

QString facts_text(const LayoutScene& scene) {
  const ArrayFacts& facts = scene.facts;
  const Mesh& mesh = scene.plan->mesh;
  const int64_t local = element_count(local_shape(*facts.sharding, mesh, facts.shape)) * byte_size(facts.dtype);
  const auto copies = static_cast<size_t>(copies_of(facts, *scene.plan));
  return QObject::tr("%1 %2, %3   |   %4 a device   |   %5")
             .arg(qt(to_string(facts.shape)), qt(name(facts.dtype)), qt(to_string(*facts.sharding, mesh)),
                  qt(bytes_text(double(local))),
                  copies == 1 ? QObject::tr("no replicas") : QObject::tr("%1 copies of each shard").arg(copies)) +
         (facts.stages.empty() ? QString() : QObject::tr("   |   stage %1").arg(stages_text(facts.stages)));
}

QString rows_text(const LayoutScene& scene) { return dimensions_text(scene.facts.shape, scene.array.row_dims); }

QString columns_text(const LayoutScene& scene) {
  const LayoutPicture& array = scene.array;
  QString text = dimensions_text(scene.facts.shape, array.column_dims);
  if (const int pages = page_dims(scene.facts.shape); pages > 0) {
    std::vector<int> leading(static_cast<size_t>(pages));
    std::iota(leading.begin(), leading.end(), 0);
    text += QObject::tr("   |   pages: %1").arg(dimensions_text(scene.facts.shape, leading));
  }
  return array.to_scale || array.row_dims.empty() ? text : text + QObject::tr("  (not to scale)");
}

std::vector<LegendEntry> layout_legend(const LayoutScene& scene) {
  std::vector<LegendEntry> entries;
  const Mesh& mesh = scene.plan->mesh;
  for (const AxisTone& last : device_tones(mesh, mesh.devices().back())) {
    const QString range = QObject::tr("%1 0\u2026%2").arg(qt(mesh.axes()[last.axis].name)).arg(last.size - 1);
    if (last.sign == AxisTone::Sign::tick)
      entries.push_back({QObject::tr("%1: tick at the edge").arg(range), [last](QPainter& painter, const QRectF& box) {
                           paint_tones(painter, box.adjusted(0, -2, 0, 2), {last}, theme());
                         }});
    else entries.push_back({range, [last](QPainter& painter, const QRectF& box) { paint_scale(painter, box, last); }});
  }
  if (scene.array.cells.front().devices.size() > 1)
    entries.push_back(
        {QObject::tr("hatched: several devices hold the same data"), [](QPainter& painter, const QRectF& box) {
           paint_tones(painter, box, {}, theme());
           paint_hatch(painter, box, theme());
         }});
  if (!scene.facts.stages.empty())
    entries.push_back({QObject::tr("pale: devices of other stages"), [](QPainter& painter, const QRectF& box) {
                         painter.fillRect(box, mix(theme().base, theme().line, 0.4));
                       }});
  entries.push_back({QObject::tr("numbers are devices (ranks)"), [](QPainter& painter, const QRectF& box) {
                       painter.setPen(theme().muted);
                       painter.drawText(box, Qt::AlignCenter, "0");
                     }});
  return entries;
}

QString device_tip(const LayoutScene& scene, int device, bool on_mesh) {
  const Mesh& mesh = scene.plan->mesh;
  const std::optional<int> held = cell_of_device(scene.array, device);
  if (!held && is_held_by(scene.facts, scene.plan->stage_of(device)))
    return QObject::tr("Device %1 (%2) holds none of this page").arg(device).arg(coordinates_text(mesh, device));
  if (!held)
    return QObject::tr("Device %1 (%2) holds none of it: it is on the devices of stage %3")
        .arg(device)
        .arg(coordinates_text(mesh, device), stages_text(scene.facts.stages));
  const ShardCell& cell = scene.array.cells[*held];
  const int64_t bytes = element_count(cell.box.size) * byte_size(scene.facts.dtype);
  QString text = on_mesh ? QObject::tr("Device %1 (%2) holds ").arg(device).arg(coordinates_text(mesh, device))
                         : QObject::tr("Shard ");
  text += qt(range_text(cell.box)) + ", " + qt(exact_bytes(double(bytes)));
  text += cell.devices.size() > 1
              ? QObject::tr("\nHeld by %1: %2")
                    .arg(qt(device_count_text(cell.devices.size())),
                         cell.devices.size() > 64 ? qt(device_text({cell.devices.begin(), cell.devices.begin() + 64})) +
                                                        QString(QChar(0x2026))
                                                  : qt(device_text(cell.devices)))
              : QObject::tr("\nHeld by device %1 alone").arg(cell.devices.front());
  return text;
}

}  // namespace shardscope
