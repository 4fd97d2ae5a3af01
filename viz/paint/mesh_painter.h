#pragma once

#include <QPainter>
#include <vector>

#include "viz/paint/mesh_geometry.h"
#include "viz/paint/palette.h"

namespace shardscope {

// Where a mesh picture is: its top left corner and the side of a device, in pixels.
struct MeshPlace {
  QPointF origin;
  double cell = 1;

  QRectF rect(const PictureRect& place) const {
    return {origin.x() + place.x * cell, origin.y() + place.y * cell, place.width * cell, place.height * cell};
  }
};

// So that all of the picture is seen in the middle of the top of `room`, a device at most `largest` pixels wide.
MeshPlace fit(const MeshPicture& picture, const QRectF& room, double largest);

// What is drawn of a mesh at a scale: as many words as can be read. Near, devices with their numbers and coordinates;
// farther, devices as tiles, with borders around hosts, and around blocks of devices with their coordinates; from afar,
// blocks alone.
enum class MeshDetail : uint8_t { devices, hosts, blocks };
MeshDetail mesh_detail(double cell);

// `host_of`: by device; empty where one host has all. What is outside the painter's clip costs nothing.
void paint_mesh(QPainter& painter, const MeshPlace& at, const MeshPicture& picture, const Mesh& mesh,
                const std::vector<int>& host_of, const Theme& theme);
// One device, for one that stands out from the others.
void paint_device(QPainter& painter, const QRectF& place, int device, const Mesh& mesh, const Theme& theme);
// The names of the axes: above those that run to the right, turned beside those that run down. `shown`: the part of the
// picture that is seen.
void paint_mesh_axes(QPainter& painter, const QRectF& shown, const MeshPicture& picture, const Mesh& mesh,
                     const Theme& theme);

}  // namespace shardscope
