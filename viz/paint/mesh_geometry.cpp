#include "viz/paint/mesh_geometry.h"

#include <algorithm>

namespace shardscope {
namespace {

struct Track {
  std::vector<double> strides;  // by axis of the track, minor first
  double extent = 1;
};

Track track_of(const Mesh& mesh, const std::vector<AxisIndex>& minor_first) {
  Track track;
  double level_gap = 0;
  for (AxisIndex axis : minor_first) {
    const double stride = track.extent + level_gap;
    track.strides.push_back(stride);
    track.extent = stride * double(mesh.axis_size(axis) - 1) + track.extent;
    level_gap += MeshPicture::gap;
  }
  return track;
}

double position(const Track& track, const std::vector<AxisIndex>& minor_first,
                const std::vector<int64_t>& coordinates) {
  double at = 0;
  for (size_t i = 0; i < minor_first.size(); ++i) at += track.strides[i] * double(coordinates[minor_first[i]]);
  return at;
}

}  // namespace

MeshPicture lay_out(const Mesh& mesh) {
  MeshPicture picture;
  for (int i = mesh.axis_count() - 1, level = 0; i >= 0; --i, ++level)
    (level % 2 == 0 ? picture.column_axes : picture.row_axes).push_back(static_cast<AxisIndex>(i));
  const Track columns = track_of(mesh, picture.column_axes);
  const Track rows = track_of(mesh, picture.row_axes);
  picture.width = columns.extent;
  picture.height = rows.extent;
  for (int device : mesh.devices()) {
    MeshCell cell{device, mesh.coordinates(device), {}};
    cell.place = {position(columns, picture.column_axes, cell.coordinates),
                  position(rows, picture.row_axes, cell.coordinates), 1, 1};
    picture.cells.push_back(std::move(cell));
  }
  std::ranges::reverse(picture.column_axes);
  std::ranges::reverse(picture.row_axes);
  return picture;
}

std::optional<int> device_at(const MeshPicture& picture, double x, double y) {
  for (const MeshCell& cell : picture.cells)
    if (cell.place.contains(x, y)) return cell.device;
  return std::nullopt;
}

}  // namespace shardscope
