#include "viz/paint/layout_geometry.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardscope {
namespace {

int64_t product(const Shape& shape, const std::vector<int>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, [&](int64_t n, int d) { return n * shape[d]; });
}

std::vector<int> dims_between(int first, int last) {
  std::vector<int> dims(last - first);
  std::iota(dims.begin(), dims.end(), first);
  return dims;
}

int rows_of(const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  if (rank <= 1) return 0;
  int best = 1;
  double best_skew = 0;
  for (int cut = 1; cut < rank; ++cut) {
    const double rows = std::max<int64_t>(1, product(shape, dims_between(0, cut)));
    const double columns = std::max<int64_t>(1, product(shape, dims_between(cut, rank)));
    const double skew = std::abs(std::log(rows / columns));
    if (cut == 1 || skew < best_skew) {
      best = cut;
      best_skew = skew;
    }
  }
  return best;
}

int64_t shards_along(const std::vector<int>& dims, const Sharding& sharding, const Mesh& mesh) {
  int64_t count = 1;
  for (const int d : dims) count *= shard_count(sharding, mesh, d);
  return count;
}

// Which of the shards along some dimensions, flattened, a device holds.
int64_t shard_along(const std::vector<int>& dims, const Sharding& sharding, const Mesh& mesh, int device) {
  int64_t index = 0;
  for (const int d : dims)
    for (const AxisIndex axis : sharding.dims[d]) index = index * mesh.axis_size(axis) + mesh.coordinate(device, axis);
  return index;
}

}  // namespace

LayoutPicture lay_out(const Shape& shape, const Sharding& sharding, const Mesh& mesh) {
  LayoutPicture picture;
  const int rank = static_cast<int>(shape.size());
  const int cut = rows_of(shape);
  picture.row_dims = dims_between(0, cut);
  picture.column_dims = dims_between(cut, rank);
  picture.rows = product(shape, picture.row_dims);
  picture.columns = product(shape, picture.column_dims);
  const double aspect = double(std::max<int64_t>(1, picture.columns)) / double(std::max<int64_t>(1, picture.rows));
  picture.aspect = std::clamp(aspect, 1 / LayoutPicture::widest, LayoutPicture::widest);
  picture.to_scale = picture.aspect == aspect;

  const int64_t down = shards_along(picture.row_dims, sharding, mesh);
  const int64_t across = shards_along(picture.column_dims, sharding, mesh);
  picture.cells.resize(static_cast<size_t>(down * across));
  for (int device = 0; device < mesh.device_count(); ++device) {
    const int64_t row = shard_along(picture.row_dims, sharding, mesh, device);
    const int64_t column = shard_along(picture.column_dims, sharding, mesh, device);
    picture.cell_of.push_back(static_cast<int>(row * across + column));
    ShardCell& cell = picture.cells[picture.cell_of.back()];
    if (cell.devices.empty()) {
      cell.box = shard_box(sharding, mesh, shape, device);
      cell.place = {double(column) / double(across), double(row) / double(down), 1.0 / double(across),
                    1.0 / double(down)};
    }
    cell.devices.push_back(device);
  }
  return picture;
}

void take_away(LayoutPicture& picture, int device) {
  std::erase(picture.cells[picture.cell_of[device]].devices, device);
  picture.cell_of[device] = -1;
}

std::optional<int> cell_at(const LayoutPicture& picture, double x, double y) {
  for (size_t i = 0; i < picture.cells.size(); ++i)
    if (picture.cells[i].place.contains(x, y)) return static_cast<int>(i);
  return std::nullopt;
}

std::optional<int> cell_of_device(const LayoutPicture& picture, int device) {
  if (device < 0 || device >= static_cast<int>(picture.cell_of.size()) || picture.cell_of[device] < 0)
    return std::nullopt;
  return picture.cell_of[device];
}

std::string dimension_text(const Shape& shape, const std::vector<int>& dims) {
  std::string text;
  for (int d : dims) text += (text.empty() ? "" : " \u00d7 ") + std::to_string(shape[d]);
  return text;
}

std::string device_text(const std::vector<int>& devices) {
  std::string text;
  for (size_t i = 0; i < devices.size();) {
    size_t last = i;
    while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(devices[i]);
    if (last > i) text += (last == i + 1 ? ", " : "\u2013") + std::to_string(devices[last]);
    i = last + 1;
  }
  return text;
}

std::string range_text(const Box& box) {
  std::string text = "[";
  for (size_t d = 0; d < box.start.size(); ++d) {
    if (d > 0) text += ", ";
    text += std::to_string(box.start[d]) + ":" + std::to_string(box.start[d] + box.size[d]);
  }
  return text + "]";
}

}  // namespace shardscope
