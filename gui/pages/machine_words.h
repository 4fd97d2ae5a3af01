#pragma once

#include <QString>
#include <QStringList>

#include "engine/plan/plan.h"

namespace shardscope {

// What the page of the machine says of its parts.

QString rate_text(double bytes_per_second);  // "450 GB/s", decimal units, as links are sold
// A unit of a level, shorter and shorter: "infiniband: 8 of nvlink, 50 GB/s, 5 us", ..., "infiniband".
QStringList level_captions(const Plan& plan, int level, int unit, int parts);
// All that is known of a level, on lines.
QString level_text(const Plan& plan, int level);
// A device and its place on the mesh.
QString machine_device_text(const Plan& plan, int device);
// One line: memory and peak rates of a device.
QString device_summary(const Machine& machine);

}  // namespace shardscope
