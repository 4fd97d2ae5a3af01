#pragma once

#include <functional>
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

// One page of an array of more than two dimensions: its last two where the ones before lie in certain ranges.
struct ArrayPage {
  PictureRect place;  // in the unit square
  std::string label;  // "[0:128, 4:8]", the ranges of the leading dimensions
};

// An array as a flat picture whose cells are its shards. Rank 0 is one cell, rank 1 runs to the right, rank 2 is drawn
// as written. Of higher ranks the last two dimensions make a page, drawn once for each shard along the others: the
// pages of a third dimension follow each other like lines of text, those of a fourth make rows and columns of pages.
//
// Example: (512, 8, 64) with dimension 0 over data=4 is four pages of 8 x 64, labelled [0:128], [128:256], ...
struct LayoutPicture {
  std::vector<int> row_dims;
  std::vector<int> column_dims;
  int64_t rows = 1, columns = 1;  // elements of a page, down and to the right
  double aspect = 1;              // width / height of the drawing
  bool to_scale = true;           // false where the true aspect of a page is outside [1 / widest, widest]
  std::vector<ArrayPage> pages;   // of more than two dimensions
  std::vector<ShardCell> cells;   // page by page, row-major by place
  std::vector<int> cell_of;       // by device; -1: it holds none of what is drawn

  static constexpr double widest = 8;
};

// `pins`: by leading dimension the index at which to cut through it, so that one page is drawn; none, or -1: all.
LayoutPicture lay_out(const Shape& shape, const Sharding& sharding, const Mesh& mesh,
                      const std::vector<int64_t>& pins = {});
// The dimensions whose pages are distinguished, and can be pinned: all but the last two.
int page_dims(const Shape& shape);
// Takes the array from the devices that do not hold it; every shard must be held by another one.
void keep(LayoutPicture& picture, const std::function<bool(int)>& holds);

// The cell at a point of the unit square; none outside.
std::optional<int> cell_at(const LayoutPicture& picture, double x, double y);
// The cell that `device` holds, if any.
std::optional<int> cell_of_device(const LayoutPicture& picture, int device);

// "512 x 8", the sizes of some dimensions of an array, as an axis label.
std::string dimension_text(const Shape& shape, const std::vector<int>& dims);
// "0-3, 6": ascending devices with runs folded.
std::string device_text(const std::vector<int>& devices);
// "1 device", "32 devices"
std::string device_count_text(size_t devices);
// "[0:256, 128:256]", a box as index ranges; "[]" for a scalar.
std::string range_text(const Box& box);

}  // namespace shardscope
