#pragma once

#include <optional>
#include <vector>

#include "engine/mesh/mesh.h"
#include "viz/paint/picture_rect.h"

namespace shardscope {

struct MeshCell {
  int device = 0;
  std::vector<int64_t> coordinates;
  PictureRect place;  // in cells: a device is 1 x 1
};

// A mesh as a flat grid: the last axis runs to the right, the one before it down, and further axes alternate as
// blocks of blocks, set apart by gaps.
//
// Example: data=4, model=2 is four rows of two devices.
struct MeshPicture {
  std::vector<AxisIndex> row_axes;     // that run down, major first
  std::vector<AxisIndex> column_axes;  // that run to the right, major first
  double width = 1, height = 1;        // in cells, gaps included
  std::vector<MeshCell> cells;         // in grid order

  static constexpr double gap = 0.35;  // between blocks, in cells; grows with the level
};

MeshPicture lay_out(const Mesh& mesh);

std::optional<int> device_at(const MeshPicture& picture, double x, double y);

}  // namespace shardscope
