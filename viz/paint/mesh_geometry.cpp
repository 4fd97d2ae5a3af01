#include "viz/paint/mesh_geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/plural.h"

namespace shardscope {
namespace {

constexpr int64_t longest_strip = 16;  // devices; wrapped beyond where it is slimmer than
constexpr double slimmest = 3.5;
constexpr double wanted_aspect = 1.4;

int64_t product(const std::vector<MeshFold>& folds, int64_t MeshFold::*way) {
  return std::accumulate(folds.begin(), folds.end(), int64_t{1},
                         [way](int64_t n, const MeshFold& fold) { return n * fold.*way; });
}

// The divisor of `size` that is nearest to `wanted`, as a factor; where there is none but 1, any number.
int64_t lines_for(int64_t size, double wanted) {
  int64_t best = 0;
  double nearest = 0;
  for (int64_t lines = 2; lines < size; ++lines) {
    const double miss = std::abs(std::log(double(lines) / wanted));
    if (size % lines == 0 && (best == 0 || miss < nearest)) {
      best = lines;
      nearest = miss;
    }
  }
  return best > 0 ? best : std::max<int64_t>(2, std::llround(wanted));
}

// Wraps the longest axis of the longer side; false where the picture is well as it is.
bool wrap(std::vector<MeshFold>& folds) {
  const int64_t width = product(folds, &MeshFold::across), height = product(folds, &MeshFold::down);
  const bool wide = width > height;
  const auto along = wide ? &MeshFold::across : &MeshFold::down, aside = wide ? &MeshFold::down : &MeshFold::across;
  const double aspect = double(std::max(width, height)) / double(std::min(width, height));
  if (std::max(width, height) <= longest_strip || aspect <= slimmest) return false;
  MeshFold& fold = *std::ranges::max_element(folds, {}, along);
  if (fold.*along < 3) return false;
  const int64_t lines = lines_for(fold.*along, std::sqrt(wide ? aspect / wanted_aspect : aspect * wanted_aspect));
  fold.*along = (fold.*along + lines - 1) / lines;
  fold.*aside *= lines;
  return true;
}

PictureRect hull(const MeshPicture& picture, int first, int count) {
  PictureRect all = picture.cells[first].place;
  for (int i = first + 1; i < first + count; ++i) {
    const PictureRect& place = picture.cells[i].place;
    const double right = std::max(all.right(), place.right()), bottom = std::max(all.bottom(), place.bottom());
    all.x = std::min(all.x, place.x);
    all.y = std::min(all.y, place.y);
    all.width = right - all.x;
    all.height = bottom - all.y;
  }
  return all;
}

std::string block_name(const Mesh& mesh, int first, int axes) {
  std::string text;
  for (int axis = 0; axis < axes; ++axis)
    text += fmt::format("{}{} {}", axis ? ", " : "", mesh.axes()[axis].name,
                        mesh.coordinate(mesh.devices()[first], static_cast<AxisIndex>(axis)));
  return text;
}

// How many coordinates of an axis make a block that is large enough, in whole lines: its blocks of the axes behind it
// are `inner` large. As many as the axis has where fewer do not.
int64_t coordinates_in_block(const MeshFold& fold, int64_t size, const PictureRect& inner, double least) {
  const auto enough = [least](double side, double stride, int64_t all) {
    int64_t count = std::max<int64_t>(1, static_cast<int64_t>(std::ceil((least - side) / stride)) + 1);
    while (count < all && all % count != 0) ++count;
    return count;
  };
  if (fold.down > 1) {
    if (fold.stride_x * double(fold.across - 1) + inner.width < least) return size;
    return std::min(size, enough(inner.height, fold.stride_y, fold.down) * fold.across);
  }
  return inner.height < least ? size : std::min(size, enough(inner.width, fold.stride_x, fold.across));
}

}  // namespace

MeshPicture lay_out(const Mesh& mesh) {
  MeshPicture picture;
  picture.folds.resize(mesh.axis_count());
  for (int i = mesh.axis_count() - 1, level = 0; i >= 0; --i, ++level)
    (level % 2 == 0 ? picture.folds[i].across : picture.folds[i].down) = mesh.axis_size(static_cast<AxisIndex>(i));
  for (int turn = 0; turn < 2 * Mesh::max_axes && wrap(picture.folds); ++turn) continue;

  double gap_x = 0, gap_y = 0;
  for (int i = mesh.axis_count() - 1; i >= 0; --i) {
    MeshFold& fold = picture.folds[i];
    const bool runs_down = fold.down > 1 ? fold.across == 1 : fold.across == 1 && (mesh.axis_count() - 1 - i) % 2 == 1;
    (runs_down ? picture.row_axes : picture.column_axes).push_back(static_cast<AxisIndex>(i));
    fold.stride_x = picture.width + gap_x;
    fold.stride_y = picture.height + gap_y;
    picture.width += fold.stride_x * double(fold.across - 1);
    picture.height += fold.stride_y * double(fold.down - 1);
    if (!runs_down) gap_x += MeshPicture::gap;
    if (runs_down || fold.is_wrapped()) gap_y += MeshPicture::gap;
  }
  std::ranges::reverse(picture.column_axes);
  std::ranges::reverse(picture.row_axes);

  picture.cell_of.resize(mesh.device_count());
  picture.cells.reserve(mesh.device_count());
  for (const int device : mesh.devices()) {
    MeshCell cell{device, {0, 0, 1, 1}};
    for (int i = 0; i < mesh.axis_count(); ++i) {
      const MeshFold& fold = picture.folds[i];
      const int64_t at = mesh.coordinate(device, static_cast<AxisIndex>(i));
      cell.place.x += fold.stride_x * double(at % fold.across);
      cell.place.y += fold.stride_y * double(at / fold.across);
    }
    picture.cell_of[device] = static_cast<int>(picture.cells.size());
    picture.cells.push_back(cell);
  }
  return picture;
}

std::optional<int> device_at(const MeshPicture& picture, double x, double y) {
  for (const MeshCell& cell : picture.cells)
    if (cell.place.contains(x, y)) return cell.device;
  return std::nullopt;
}

std::vector<MeshBlock> blocks_of(const MeshPicture& picture, const Mesh& mesh, double least) {
  const int devices = mesh.device_count();
  std::vector<MeshBlock> blocks;
  int size = 1;  // of a block of the axes behind
  for (int axis = mesh.axis_count() - 1; axis >= 0; --axis) {
    const auto along = static_cast<int>(mesh.axis_size(static_cast<AxisIndex>(axis)));
    const auto chunk =
        static_cast<int>(coordinates_in_block(picture.folds[axis], along, hull(picture, 0, size), least));
    if (chunk < along) {
      for (int first = 0; first < devices; first += along * size)
        for (int from = 0; from < along; from += chunk) {
          const int upto = std::min(along, from + chunk), cell = first + from * size, count = (upto - from) * size;
          std::string name = block_name(mesh, first, axis);
          name += fmt::format("{}{} {}", name.empty() ? "" : ", ", mesh.axes()[axis].name, from);
          if (upto - from > 1) name += fmt::format("\u2013{}", upto - 1);
          blocks.push_back({hull(picture, cell, count), cell, count, axis + 1, std::move(name)});
        }
      return blocks;
    }
    size *= along;
  }
  return {{{0, 0, picture.width, picture.height}, 0, devices, 0, counted(devices, "device")}};
}

}  // namespace shardscope
