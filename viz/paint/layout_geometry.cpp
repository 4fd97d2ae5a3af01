#include "viz/paint/layout_geometry.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/plural.h"

namespace shardscope {
namespace {

int64_t product(const Shape& shape, const std::vector<int>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, [&](int64_t n, int d) { return n * shape[d]; });
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

// Where pages lie: in units of a page's height.
struct PageGrid {
  int64_t across = 1, down = 1;
  double page_width = 1, gap = 0;

  double width() const { return double(across) * page_width + double(across - 1) * gap; }
  double height() const { return double(down) + double(down - 1) * gap; }
  PictureRect page(int64_t number) const {
    const double x = double(number % across) * (page_width + gap), y = double(number / across) * (1 + gap);
    return {x / width(), y / height(), page_width / width(), 1 / height()};
  }
};

// Like lines of text, so that the whole is about as wide as a window.
int64_t pages_in_a_line(int64_t pages, double page_width) {
  constexpr double wanted = 1.6;
  const double across = std::sqrt(wanted * double(pages) / page_width);
  return std::clamp<int64_t>(std::llround(across), 1, pages);
}

// The shards of a leading dimension that are drawn.
struct Track {
  int64_t first = 0, count = 1;
};

Track track_of(int dim, const Shape& shape, const Sharding& sharding, const Mesh& mesh, int64_t pin) {
  const int64_t count = shard_count(sharding, mesh, dim);
  if (pin < 0 || shape[dim] == 0) return {0, count};
  return {std::min(pin, shape[dim] - 1) / (shape[dim] / count), 1};
}

std::string page_label(const Box& box, int dims, const std::vector<int64_t>& pins) {
  std::string text;
  for (int d = 0; d < dims; ++d) {
    const bool pinned = d < static_cast<int>(pins.size()) && pins[d] >= 0;
    text += d ? ", " : "[";
    text += pinned ? std::to_string(pins[d])
                   : std::to_string(box.start[d]) + ":" + std::to_string(box.start[d] + box.size[d]);
  }
  return text + "]";
}

}  // namespace

int page_dims(const Shape& shape) { return std::max(0, static_cast<int>(shape.size()) - 2); }

LayoutPicture lay_out(const Shape& shape, const Sharding& sharding, const Mesh& mesh,
                      const std::vector<int64_t>& pins) {
  LayoutPicture picture;
  const int rank = static_cast<int>(shape.size()), leading = page_dims(shape);
  if (rank > 1) picture.row_dims = {rank - 2};
  if (rank > 0) picture.column_dims = {rank - 1};
  picture.rows = product(shape, picture.row_dims);
  picture.columns = product(shape, picture.column_dims);
  const double aspect = double(std::max<int64_t>(1, picture.columns)) / double(std::max<int64_t>(1, picture.rows));
  PageGrid grid;
  grid.page_width = std::clamp(aspect, 1 / LayoutPicture::widest, LayoutPicture::widest);
  picture.to_scale = grid.page_width == aspect;

  std::vector<Track> tracks;
  for (int d = 0; d < leading; ++d)
    tracks.push_back(track_of(d, shape, sharding, mesh, d < static_cast<int>(pins.size()) ? pins[d] : -1));
  int64_t pages = 1;
  for (const Track& track : tracks) pages *= track.count;
  const bool lines_of_text = leading < 2 || pages == tracks.back().count;
  grid.across = lines_of_text ? pages_in_a_line(pages, grid.page_width) : tracks.back().count;
  grid.down = (pages + grid.across - 1) / grid.across;
  if (pages > 1) grid.gap = 0.14 * std::min(1.0, grid.page_width) + 0.04;
  picture.aspect = grid.width() / grid.height();
  if (leading > 0) picture.pages.resize(static_cast<size_t>(pages));

  const int64_t down = shards_along(picture.row_dims, sharding, mesh);
  const int64_t across = shards_along(picture.column_dims, sharding, mesh);
  picture.cells.resize(static_cast<size_t>(pages * down * across));
  for (int device = 0; device < mesh.device_count(); ++device) {
    int64_t page = 0;
    bool is_drawn = true;
    for (int d = 0; d < leading; ++d) {
      const int64_t at = shard_along({d}, sharding, mesh, device) - tracks[d].first;
      is_drawn &= at >= 0 && at < tracks[d].count;
      page = page * tracks[d].count + at;
    }
    picture.cell_of.push_back(-1);
    if (!is_drawn) continue;
    const int64_t row = shard_along(picture.row_dims, sharding, mesh, device);
    const int64_t column = shard_along(picture.column_dims, sharding, mesh, device);
    picture.cell_of.back() = static_cast<int>((page * down + row) * across + column);
    ShardCell& cell = picture.cells[picture.cell_of.back()];
    if (cell.devices.empty()) {
      const PictureRect frame = grid.page(page);
      cell.box = shard_box(sharding, mesh, shape, device);
      cell.place = place_in(
          {double(column) / double(across), double(row) / double(down), 1.0 / double(across), 1.0 / double(down)},
          frame);
      if (leading > 0) picture.pages[page] = {frame, page_label(cell.box, leading, pins)};
    }
    cell.devices.push_back(device);
  }
  return picture;
}

void keep(LayoutPicture& picture, const std::function<bool(int)>& holds) {
  for (ShardCell& cell : picture.cells) std::erase_if(cell.devices, [&](int device) { return !holds(device); });
  for (int device = 0; device < std::ssize(picture.cell_of); ++device)
    if (!holds(device)) picture.cell_of[device] = -1;
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

std::string device_count_text(size_t devices) { return counted(devices, "device"); }

std::string range_text(const Box& box) {
  std::string text = "[";
  for (size_t d = 0; d < box.start.size(); ++d) {
    if (d > 0) text += ", ";
    text += std::to_string(box.start[d]) + ":" + std::to_string(box.start[d] + box.size[d]);
  }
  return text + "]";
}

}  // namespace shardscope
