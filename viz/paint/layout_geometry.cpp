#include "viz/paint/layout_geometry.h"

#include <algorithm>
#include <cmath>
#include <map>
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

struct Run {
  double start, size;
};

Run run_of(const Box& box, const std::vector<int>& dims, const Sharding& sharding, const Mesh& mesh) {
  int64_t index = 0, count = 1;
  for (int d : dims) {
    const int64_t shards = shard_count(sharding, mesh, d);
    index = index * shards + (box.size[d] > 0 ? box.start[d] / box.size[d] : 0);
    count *= shards;
  }
  return {static_cast<double>(index) / count, 1.0 / count};
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

  std::map<std::pair<double, double>, ShardCell> cells;
  for (int device = 0; device < mesh.device_count(); ++device) {
    Box box = shard_box(sharding, mesh, shape, device);
    const Run rows = run_of(box, picture.row_dims, sharding, mesh);
    const Run columns = run_of(box, picture.column_dims, sharding, mesh);
    ShardCell& cell = cells[{rows.start, columns.start}];
    cell.box = std::move(box);
    cell.place = {columns.start, rows.start, columns.size, rows.size};
    cell.devices.push_back(device);
  }
  for (auto& [place, cell] : cells) picture.cells.push_back(std::move(cell));
  return picture;
}

std::optional<int> cell_at(const LayoutPicture& picture, double x, double y) {
  for (size_t i = 0; i < picture.cells.size(); ++i)
    if (picture.cells[i].place.contains(x, y)) return static_cast<int>(i);
  return std::nullopt;
}

std::optional<int> cell_of_device(const LayoutPicture& picture, int device) {
  for (size_t i = 0; i < picture.cells.size(); ++i)
    if (std::ranges::binary_search(picture.cells[i].devices, device)) return static_cast<int>(i);
  return std::nullopt;
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
