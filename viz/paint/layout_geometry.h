#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/mesh/mesh.h"
#include "engine/mesh/sharding.h"
#include "viz/paint/picture_rect.h"

namespace shardscope {

// One shard of an array: the part, where it is drawn, and who holds it.
struct ShardCell {
  Box box;
  PictureRect place;         // in the unit square
  std::vector<int> devices;  // ascending; more than one: replicas
};

// An array as a flat picture whose cells are its shards. Rank 0 is one cell, rank 1 runs to the right, rank 2 is drawn
// as written. Higher ranks are flattened: the leading dimensions run down, the rest to the right, cut where the picture
// comes nearest to a square, and shards are drawn as blocks (a shard's elements are put together even where they are
// strided in memory).
//
// Example: (512, 8, 64) with the heads over model=2: rows are dimension 0, columns dimensions 1 and 2 (512 x 512), two
// cells side by side.
struct LayoutPicture {
  std::vector<int> row_dims;
  std::vector<int> column_dims;
  int64_t rows = 1, columns = 1;  // elements down and to the right
  double aspect = 1;              // width / height of the drawing, within [1 / widest, widest]
  bool to_scale = true;           // false where the true aspect lies outside
  std::vector<ShardCell> cells;   // row-major by place
  std::vector<int> cell_of;       // by device; -1: it holds none of it

  static constexpr double widest = 8;
};

LayoutPicture lay_out(const Shape& shape, const Sharding& sharding, const Mesh& mesh);
// Takes the array from a device; another one must hold the same shard.
void take_away(LayoutPicture& picture, int device);

// The cell at a point of the unit square; none outside.
std::optional<int> cell_at(const LayoutPicture& picture, double x, double y);
// The cell that `device` holds, if any.
std::optional<int> cell_of_device(const LayoutPicture& picture, int device);

// "512 x 8", the sizes of some dimensions of an array, as an axis label.
std::string dimension_text(const Shape& shape, const std::vector<int>& dims);
// "0-3, 6": ascending devices with runs folded.
std::string device_text(const std::vector<int>& devices);
// "[0:256, 128:256]", a box as index ranges; "[]" for a scalar.
std::string range_text(const Box& box);

}  // namespace shardscope
