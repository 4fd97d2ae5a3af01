#include "engine/mesh/sharding.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"

namespace shardscope {
namespace {

int64_t shard_index(const AxisList& axes, const Mesh& mesh, int device) {
  int64_t index = 0;
  for (AxisIndex axis : axes) index = index * mesh.axis_size(axis) + mesh.coordinate(device, axis);
  return index;
}

}  // namespace

bool AxisList::contains(AxisIndex axis) const { return std::find(begin(), end(), axis) != end(); }

bool AxisList::starts_with(const AxisList& prefix) const {
  return prefix.count <= count && std::equal(prefix.begin(), prefix.end(), begin());
}

Sharding Sharding::replicated(int rank) {
  if (rank < 0 || rank > max_rank) {
    throw Failure({"rank", fmt::format("an array of rank {} cannot be laid out", rank), "",
                   fmt::format("at most {} dimensions", max_rank)});
  }
  Sharding sharding;
  sharding.rank = static_cast<uint8_t>(rank);
  return sharding;
}

uint8_t Sharding::used_axes() const {
  uint8_t used = partial;
  for (int dim = 0; dim < rank; ++dim) {
    for (AxisIndex axis : dims[dim]) used |= static_cast<uint8_t>(1u << axis);
  }
  return used;
}

int64_t shard_count(const Sharding& sharding, const Mesh& mesh, int dim) {
  int64_t count = 1;
  for (AxisIndex axis : sharding.dims[dim]) count *= mesh.axis_size(axis);
  return count;
}

int64_t shard_count(const Sharding& sharding, const Mesh& mesh) {
  int64_t count = 1;
  for (int dim = 0; dim < sharding.rank; ++dim) count *= shard_count(sharding, mesh, dim);
  return count;
}

bool fully_replicated(const Sharding& sharding, const Mesh& mesh) { return shard_count(sharding, mesh) == 1; }

bool divides(const Sharding& sharding, const Mesh& mesh, const Shape& shape) {
  for (int dim = 0; dim < sharding.rank; ++dim) {
    if (shape[dim] % shard_count(sharding, mesh, dim) != 0) return false;
  }
  return true;
}

Shape local_shape(const Sharding& sharding, const Mesh& mesh, const Shape& shape) {
  Shape local(shape);
  for (int dim = 0; dim < sharding.rank; ++dim) local[dim] /= shard_count(sharding, mesh, dim);
  return local;
}

Box shard_box(const Sharding& sharding, const Mesh& mesh, const Shape& shape, int device) {
  Box box{Shape(sharding.rank), local_shape(sharding, mesh, shape)};
  for (int dim = 0; dim < sharding.rank; ++dim) {
    box.start[dim] = shard_index(sharding.dims[dim], mesh, device) * box.size[dim];
  }
  return box;
}

std::vector<int> replicas(const Sharding& sharding, const Mesh& mesh, const Shape& shape, int device) {
  const Shape local = local_shape(sharding, mesh, shape);
  std::vector<int> result;
  for (int other = 0; other < mesh.device_count(); ++other) {
    bool same = true;
    for (int dim = 0; dim < sharding.rank && same; ++dim) {
      const AxisList& axes = sharding.dims[dim];
      same = local[dim] == 0 || shard_index(axes, mesh, device) == shard_index(axes, mesh, other);
    }
    if (same) result.push_back(other);
  }
  return result;
}

namespace {

std::string quoted_axis(const Mesh& mesh, AxisIndex axis) { return "'" + mesh.axes()[axis].name + "'"; }

// One entry of a spec: None, an axis, or axes in parentheses.
std::string entry_text(const AxisList& axes, const Mesh& mesh) {
  if (axes.empty()) return "None";
  std::string text;
  for (AxisIndex axis : axes) text += (text.empty() ? "" : ", ") + quoted_axis(mesh, axis);
  return axes.count == 1 ? text : "(" + text + ")";
}

}  // namespace

std::string to_string(const Sharding& sharding, const Mesh& mesh) {
  std::string text;
  for (int dim = 0; dim < sharding.rank; ++dim) text += (dim ? ", " : "") + entry_text(sharding.dims[dim], mesh);
  std::string names;
  for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
    if (sharding.partial >> axis & 1) names += (names.empty() ? "" : ", ") + quoted_axis(mesh, axis);
  }
  if (!names.empty()) {
    const char* word = sharding.reduction == Reduction::max ? "unreduced_max={" : "unreduced={";
    text += (text.empty() ? "" : ", ") + (word + names) + "}";
  } else if (sharding.rank == 1) {
    text += ",";
  }
  return "P(" + text + ")";
}

}  // namespace shardscope
