#pragma once

#include <QPainter>
#include <vector>

#include "viz/paint/layout_geometry.h"
#include "viz/paint/palette.h"
#include "viz/paint/tone_painter.h"

namespace shardscope {

// Draws the array's shards into `place`, each with its devices and, where there is room, its index ranges and
// coordinates; pages with their ranges above them. Shards of more than one device are hatched. What is outside the
// painter's clip costs nothing.
void paint_array(QPainter& painter, const QRectF& place, const LayoutPicture& picture, const Sharding& sharding,
                 const Mesh& mesh, const Theme& theme);
// Where paint_array() has drawn a cell, and the same cell once more, for one that stands out from the others.
QRectF cell_place(const QRectF& place, const ShardCell& cell);
void paint_cell(QPainter& painter, const QRectF& place, const LayoutPicture& picture, int cell,
                const Sharding& sharding, const Mesh& mesh, const Theme& theme);

}  // namespace shardscope
