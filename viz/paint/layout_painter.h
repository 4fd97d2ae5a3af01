#pragma once

#include <QPainter>
#include <vector>

#include "viz/paint/layout_geometry.h"
#include "viz/paint/mesh_geometry.h"
#include "viz/paint/palette.h"

namespace shardscope {

// Fills `place` with the first tone and puts a band of each further tone at its left edge; neutral without tones.
void paint_tones(QPainter& painter, const QRectF& place, const std::vector<AxisTone>& tones, const Theme& theme);
// Diagonal lines: "the same data lies elsewhere too".
void paint_hatch(QPainter& painter, const QRectF& place, const Theme& theme);

// Draws the array's shards into `place`, each with its devices and, where there is room, its index ranges. Shards of
// more than one device are hatched.
void paint_array(QPainter& painter, const QRectF& place, const LayoutPicture& picture, const Sharding& sharding,
                 const Mesh& mesh, const Theme& theme);
// Where paint_array() has drawn a cell, and the same cell once more, for one that stands out from the others.
QRectF cell_place(const QRectF& place, const ShardCell& cell);
void paint_cell(QPainter& painter, const QRectF& place, const LayoutPicture& picture, int cell,
                const Sharding& sharding, const Mesh& mesh, const Theme& theme);

// Where a mesh picture's cells go in `place`: the side of a device in pixels, so that all of it fits, at most
// `largest`.
double mesh_cell_pixels(const MeshPicture& picture, const QRectF& place, double largest);
QRectF cell_place(const QPointF& top_left, double cell_pixels, const MeshCell& cell);
void paint_mesh(QPainter& painter, const QPointF& top_left, double cell_pixels, const MeshPicture& picture,
                const Mesh& mesh, const Theme& theme);
void paint_cell(QPainter& painter, const QRectF& place, const MeshCell& cell, const Mesh& mesh, const Theme& theme);

// A frame inside the edges of a cell.
void paint_ring(QPainter& painter, const QRectF& place, const QColor& color, double width);

}  // namespace shardscope
