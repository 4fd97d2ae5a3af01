#include "gui/pages/machine_words.h"

#include <QCoreApplication>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/workspace/step_facts.h"

namespace shardscope {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("machine", text); }

QString kind_text(const Level& level) {
  QString text = qt(name(level.kind));
  QStringList dims;
  for (int dim : level.dims) dims << QString::number(dim);
  if (!dims.isEmpty()) text += " " + dims.join(QChar(0xd7));
  if (level.kind == LevelKind::ring || level.kind == LevelKind::torus)
    text += level.wraps ? tr(", wraps") : tr(", open");
  return text;
}

// "8 devices", "2 units of nvlink".
QString parts_text(const Machine& machine, int level, int count) {
  if (level == 0) return counted_text(count, "device");
  return tr("%1 of %2").arg(counted_text(count, "unit"), qt(machine.levels[size_t(level - 1)].name));
}

}  // namespace

QString rate_text(double bytes_per_second) { return qt(count_text(bytes_per_second)) + "B/s"; }

QStringList level_captions(const Plan& plan, int level, int unit, int parts) {
  if (level < 0 || level >= std::ssize(plan.machine.levels)) return {};
  const Level& of = plan.machine.levels[size_t(level)];
  const bool is_whole = level + 1 == std::ssize(plan.machine.levels);
  const QString title = is_whole ? qt(of.name) : tr("%1 %2").arg(qt(of.name)).arg(unit);
  const QString count = parts_text(plan.machine, level, parts);
  const QString rate = rate_text(of.bytes_per_second);
  return {tr("%1: %2, %3, %4").arg(title, count, kind_text(of), rate), tr("%1: %2, %3").arg(title, count, rate),
          tr("%1: %2").arg(title, rate), title, QString::number(unit)};
}

QString level_text(const Plan& plan, int level) {
  if (level < 0 || level >= std::ssize(plan.machine.levels)) return {};
  const Level& of = plan.machine.levels[size_t(level)];
  QStringList lines{tr("%1 (%2)").arg(qt(of.name), kind_text(of))};
  lines << tr("a link moves %1 in each direction").arg(rate_text(of.bytes_per_second));
  if (of.latency > 0) lines << tr("a message takes %1 at least").arg(qt(seconds_text(of.latency)));
  if (of.shared_by == Level::whole_unit) lines << tr("all devices of a unit share one link");
  else if (of.shared_by > 1) lines << tr("%1 devices share a link").arg(of.shared_by);
  if (!of.source.empty()) lines << qt(of.source);
  return lines.join('\n');
}

QString machine_device_text(const Plan& plan, int device) {
  return tr("Device %1: %2").arg(device).arg(coordinates_text(plan.mesh, device));
}

QString device_summary(const Machine& machine) {
  QStringList parts;
  if (const Evidence& evidence = machine.evidence; evidence.measurements > 0)
    parts
        << tr("%1, %2 off").arg(counted_text(evidence.measurements, "measurement"), qt(share_text(evidence.time_error)))
        << (evidence.memory_measurements > 0 ? tr("%1 with memory, %2 off")
                                                   .arg(evidence.memory_measurements)
                                                   .arg(qt(share_text(evidence.memory_error)))
                                             : tr("0 with memory"));
  else if (machine.device.kind == DeviceKind::own) parts << tr("unverified");
  if (machine.device.memory_bytes > 0)
    parts << tr("%1 of memory").arg(qt(bytes_text(double(machine.device.memory_bytes))));
  if (!machine.device.memory.empty())
    parts << tr("%1 to memory").arg(rate_text(machine.device.memory.back().bytes_per_second));
  for (const auto& [precision, rate] : machine.device.products)
    parts << tr("%1 %2/s").arg(qt(name(precision)), qt(flops_text(rate.flops_per_second)));
  return parts.join(", ");
}

}  // namespace shardscope
