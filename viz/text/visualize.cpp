#include "viz/text/visualize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "engine/mesh/partition_spec.h"
#include "viz/text/rich_table.h"

namespace shardscope {
namespace {

constexpr int64_t console_width = 80;

// What one group of devices holds: where its box starts, and which summand of a partial value.
struct Holding {
  Shape start;
  int64_t summand = 0;
  auto operator<=>(const Holding&) const = default;
};

using Groups = std::map<Holding, std::vector<int>>;

std::vector<AxisIndex> partial_axes(const Sharding& sharding, const Mesh& mesh) {
  std::vector<AxisIndex> axes;
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (sharding.partial >> axis & 1) axes.push_back(static_cast<AxisIndex>(axis));
  }
  return axes;
}

Groups device_groups(const Sharding& sharding, const Mesh& mesh, const Shape& shape, const std::vector<int>& devices) {
  const std::vector<AxisIndex> partial = partial_axes(sharding, mesh);
  Groups groups;
  for (int device = 0; device < mesh.device_count(); ++device) {
    if (!devices.empty() && !std::ranges::binary_search(devices, device)) continue;
    groups[{shard_box(sharding, mesh, shape, device).start, mesh.group_index(device, partial)}].push_back(device);
  }
  return groups;
}

std::string device_label(const std::vector<int>& devices) { return fmt::format("CPU {}", fmt::join(devices, ",")); }

TableCell padded_cell(std::string label, int64_t width, int64_t height) {
  const int64_t across = std::max<int64_t>(width - 2 - static_cast<int64_t>(label.size()), 0);
  const int64_t down = std::max<int64_t>(height - 2, 0);
  return {std::move(label), down / 2, across - across / 2, down - down / 2, across / 2};
}

// As jax.debug.visualize_sharding chooses it: to scale, 10 lines for the whole array, between 9 and 80 columns.
struct CellSize {
  int64_t width, height;
};

CellSize jax_cell_size(const Sharding& sharding, const Mesh& mesh, const Shape& shape) {
  const bool matrix = shape.size() == 2;
  const size_t across = matrix ? 1 : 0;
  const Shape local = local_shape(sharding, mesh, shape);
  const auto fraction = [](int64_t part, int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  const double base_width = std::floor(10 * fraction(matrix ? shape[1] : 1, shape[0]));
  const double width = std::floor(fraction(local[across], shape[across]) * base_width * 2.5);
  const double height = matrix ? std::floor(fraction(local[0], shape[0]) * 10) : 1;
  return {static_cast<int64_t>(std::clamp(width, 9.0, 80.0)), static_cast<int64_t>(height)};
}

std::optional<std::string> draw_table(const Groups& groups, int64_t columns, CellSize size) {
  std::vector<std::vector<TableCell>> rows;
  for (const auto& [holding, devices] : groups) {
    if (rows.empty() || rows.back().size() == static_cast<size_t>(columns)) rows.emplace_back();
    rows.back().push_back(padded_cell(device_label(devices), size.width, size.height));
  }
  return draw_rich_table(rows, console_width);
}

// JAX's drawing; where JAX would break a label, the same with columns that share the console evenly; where even these
// are too narrow, nothing.
std::optional<std::string> draw(const Groups& groups, const Sharding& sharding, const Mesh& mesh, const Shape& shape) {
  const int64_t columns = shard_count(sharding, mesh, static_cast<int>(shape.size()) - 1);
  CellSize size = jax_cell_size(sharding, mesh, shape);
  if (std::optional<std::string> drawing = draw_table(groups, columns, size)) return drawing;
  const int64_t borders_of_cell = 2;
  size.width = (console_width - columns - 1) / columns + borders_of_cell;
  return draw_table(groups, columns, size);
}

std::string range_text(const Shape& start, const Shape& local, const Shape& shape) {
  if (shape.empty()) return "the scalar";
  std::vector<std::string> ranges;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const bool whole = local[dim] == shape[dim];
    ranges.push_back(whole ? ":" : fmt::format("{}:{}", start[dim], start[dim] + local[dim]));
  }
  return fmt::format("[{}]", fmt::join(ranges, ", "));
}

std::string list_groups(const Groups& groups, const Sharding& sharding, const Mesh& mesh, const Shape& shape) {
  std::string text = to_string(shape) + " " + to_string(to_spec(sharding, mesh));
  int64_t summands = 1;
  std::vector<std::string> names;
  for (AxisIndex axis : partial_axes(sharding, mesh)) {
    summands *= mesh.axis_size(axis);
    names.push_back(fmt::format("'{}'", mesh.axes()[axis].name));
  }
  if (!names.empty()) text += fmt::format(", still to be summed over {}", fmt::join(names, ", "));
  text += "\n";

  constexpr size_t widest_aligned = 40;
  size_t aligned = 0;
  for (const auto& [holding, devices] : groups) {
    const size_t size = device_label(devices).size();
    if (size <= widest_aligned) aligned = std::max(aligned, size);
  }
  const Shape local = local_shape(sharding, mesh, shape);
  for (const auto& [holding, devices] : groups) {
    text += fmt::format("{:<{}}  {}", device_label(devices), aligned, range_text(holding.start, local, shape));
    if (!names.empty()) text += fmt::format("  summand {} of {}", holding.summand + 1, summands);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string visualize_sharding(const Sharding& sharding, const Mesh& mesh, const Shape& shape,
                               const std::vector<int>& devices) {
  const Groups groups = device_groups(sharding, mesh, shape, devices);
  const bool drawable = (shape.size() == 1 || shape.size() == 2) && element_count(shape) > 0 && sharding.partial == 0;
  if (drawable) {
    if (std::optional<std::string> drawing = draw(groups, sharding, mesh, shape)) return *drawing;
  }
  return list_groups(groups, sharding, mesh, shape);
}

}  // namespace shardscope
