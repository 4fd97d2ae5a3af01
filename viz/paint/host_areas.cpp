#include "viz/paint/host_areas.h"

#include <algorithm>
#include <cmath>

namespace shardscope {
namespace {

// The cells by row and column, whatever gaps are between these.
class Grid {
 public:
  Grid(const MeshPicture& picture, const std::vector<int>& host_of) : host_of_(host_of) {
    for (const MeshCell& cell : picture.cells) {
      columns_.push_back(key(cell.place.x));
      rows_.push_back(key(cell.place.y));
    }
    for (std::vector<int64_t>* keys : {&columns_, &rows_}) {
      std::ranges::sort(*keys);
      keys->erase(std::ranges::unique(*keys).begin(), keys->end());
    }
    cells_.assign(columns_.size() * rows_.size(), nullptr);
    for (const MeshCell& cell : picture.cells) {
      const auto column = std::ranges::lower_bound(columns_, key(cell.place.x)) - columns_.begin();
      const auto row = std::ranges::lower_bound(rows_, key(cell.place.y)) - rows_.begin();
      cells_[static_cast<size_t>(row * columns() + column)] = &cell;
    }
  }

  int columns() const { return static_cast<int>(columns_.size()); }
  int rows() const { return static_cast<int>(rows_.size()); }
  int host(int row, int column) const {
    const MeshCell* cell = at(row, column);
    return cell ? host_of_[static_cast<size_t>(cell->device)] : -1;
  }
  const PictureRect& place(int row, int column) const { return at(row, column)->place; }

 private:
  static int64_t key(double position) { return std::llround(position * 1000); }
  const MeshCell* at(int row, int column) const {
    const bool is_inside = row >= 0 && row < rows() && column >= 0 && column < columns();
    return is_inside ? cells_[static_cast<size_t>(row * columns() + column)] : nullptr;
  }

  const std::vector<int>& host_of_;
  std::vector<int64_t> columns_, rows_;
  std::vector<const MeshCell*> cells_;
};

// Up to the middle of the gap to a neighbour of the same host, so that a border has no holes.
void add_border(const Grid& grid, int row, int column, HostArea& area) {
  const PictureRect& place = grid.place(row, column);
  const bool left = grid.host(row, column - 1) == area.host, right = grid.host(row, column + 1) == area.host;
  const bool above = grid.host(row - 1, column) == area.host, below = grid.host(row + 1, column) == area.host;
  const double x1 = left ? (grid.place(row, column - 1).right() + place.x) / 2 : place.x;
  const double x2 = right ? (grid.place(row, column + 1).x + place.right()) / 2 : place.right();
  const double y1 = above ? (grid.place(row - 1, column).bottom() + place.y) / 2 : place.y;
  const double y2 = below ? (grid.place(row + 1, column).y + place.bottom()) / 2 : place.bottom();
  if (!left) area.border.push_back({x1, y1, x1, y2});
  if (!right) area.border.push_back({x2, y1, x2, y2});
  if (!above) area.border.push_back({x1, y1, x2, y1});
  if (!below) area.border.push_back({x1, y2, x2, y2});
}

// From a span of a row down, as far as all of it is the host's.
PictureRect room_below(const Grid& grid, int row, int first, int last, int host) {
  int end = row + 1;
  const auto is_whole = [&] {
    for (int column = first; column < last; ++column)
      if (grid.host(end, column) != host) return false;
    return true;
  };
  while (is_whole()) ++end;
  const PictureRect &from = grid.place(row, first), &to = grid.place(end - 1, last - 1);
  return {from.x, from.y, to.right() - from.x, to.bottom() - from.y};
}

}  // namespace

std::vector<HostArea> host_areas(const MeshPicture& picture, const std::vector<int>& host_of) {
  if (host_of.empty()) return {};
  std::vector<HostArea> areas(static_cast<size_t>(std::ranges::max(host_of)) + 1);
  for (size_t host = 0; host < areas.size(); ++host) areas[host].host = static_cast<int>(host);
  const Grid grid(picture, host_of);
  for (int row = 0; row < grid.rows(); ++row)
    for (int column = 0; column < grid.columns(); ++column) {
      const int host = grid.host(row, column);
      if (host < 0) continue;
      HostArea& area = areas[static_cast<size_t>(host)];
      ++area.devices;
      add_border(grid, row, column, area);
      if (grid.host(row, column - 1) == host) continue;
      int last = column + 1;
      while (grid.host(row, last) == host) ++last;
      const PictureRect room = room_below(grid, row, column, last, host);
      if (room.width * room.height > area.room.width * area.room.height) area.room = room;
    }
  return areas;
}

}  // namespace shardscope
