#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/mesh/mesh.h"
#include "viz/paint/picture_rect.h"

namespace shardscope {

struct MeshCell {
  int device = 0;
  PictureRect place;  // in cells: a device is 1 x 1
};

// How an axis runs: coordinate c is column c % across, row c / across of blocks of the axes behind it.
struct MeshFold {
  int64_t across = 1, down = 1;
  double stride_x = 1, stride_y = 1;  // in cells
  bool is_wrapped() const { return across > 1 && down > 1; }
};

// A mesh as a flat grid: the last axis runs to the right, the one before it down, and further axes alternate as
// blocks of blocks, set apart by gaps. Where that would make a long strip, the axes that make it so are wrapped like
// lines of text until the picture is about as high as it is wide.
//
// Examples: data=4, model=2 is four rows of two devices; data=4096 is 64 rows of 64.
struct MeshPicture {
  std::vector<AxisIndex> row_axes;     // that run down, major first
  std::vector<AxisIndex> column_axes;  // that run to the right, or are wrapped, major first
  std::vector<MeshFold> folds;         // by axis
  double width = 1, height = 1;        // in cells, gaps included
  std::vector<MeshCell> cells;         // in grid order
  std::vector<int> cell_of;            // by device

  static constexpr double gap = 0.35;  // between blocks, in cells; grows with the level

  const PictureRect& place_of(int device) const { return cells[cell_of[device]].place; }
};

MeshPicture lay_out(const Mesh& mesh);

std::optional<int> device_at(const MeshPicture& picture, double x, double y);

// A rectangle of devices that belong together, and what they are called.
struct MeshBlock {
  PictureRect place;  // in cells
  int first_cell = 0, cells = 1;
  int axes = 0;      // so many of the first axes tell it from the others
  std::string name;  // "data 3", "data 0, model 512-767"
};
// The devices that agree in their coordinates along the first axes, but for the last of these, of which a block may
// have several in a row: the smallest such blocks whose sides have at least `least` cells. One block of all where there
// are none.
std::vector<MeshBlock> blocks_of(const MeshPicture& picture, const Mesh& mesh, double least);

}  // namespace shardscope
