#include "engine/mesh/reshard.h"

#include <algorithm>

namespace shardscope {

int64_t group_size(const AxisList& axes, const Mesh& mesh) {
  int64_t size = 1;
  for (AxisIndex axis : axes) size *= mesh.axis_size(axis);
  return size;
}

bool can_reshard(const Sharding& from, const Sharding& to) {
  return (to.partial & ~from.partial) == 0 && (to.partial == 0 || to.reduction == from.reduction);
}

namespace {

bool uses(uint8_t set, AxisIndex axis) { return (set >> axis) & 1; }

// The axes that `target` has beyond `current` in dimension d, if current is a prefix of it there.
AxisList missing_axes(const AxisList& current, const AxisList& target) {
  AxisList rest;
  if (!target.starts_with(current)) return rest;
  for (int i = current.count; i < target.count; ++i) rest.push_back(target.axes[i]);
  return rest;
}

class PathBuilder {
 public:
  PathBuilder(const Sharding& from, const Sharding& to, const Mesh& mesh)
      : current_(from), target_(to), mesh_(mesh), reduction_(from.reduction) {}

  std::vector<ReshardStep> build() {
    slice();
    reduce();
    while (current_.dims != target_.dims) {
      if (slice() || permute() || all_to_all()) continue;
      all_gather();
    }
    return std::move(steps_);
  }

 private:
  void emit(InstructionKind kind, const AxisList& axes, int split_dim, int concat_dim) {
    if (current_.partial == 0) current_.reduction = Reduction::sum;
    steps_.push_back({kind, axes, split_dim, concat_dim, reduction_, current_});
  }

  // Cuts every dimension along axes over which the value is whole.
  bool slice() {
    AxisList cut;
    for (int d = 0; d < current_.rank; ++d) {
      for (AxisIndex axis : missing_axes(current_.dims[d], target_.dims[d])) {
        if (uses(current_.used_axes(), axis)) break;
        current_.dims[d].push_back(axis);
        cut.push_back(axis);
      }
    }
    if (!cut.empty()) emit(InstructionKind::slice, cut, -1, -1);
    return !cut.empty();
  }

  // Finishes sums: scattered where the target splits a dimension next by that axis, else over the whole group.
  void reduce() {
    uint8_t open = current_.partial & ~target_.partial;
    for (bool progress = true; progress;) {
      progress = false;
      for (int d = 0; d < current_.rank; ++d) {
        AxisList axes;
        for (AxisIndex axis : missing_axes(current_.dims[d], target_.dims[d])) {
          if (!uses(open, axis)) break;
          axes.push_back(axis);
          open &= static_cast<uint8_t>(~(1u << axis));
        }
        if (axes.empty()) continue;
        for (AxisIndex axis : axes) {
          current_.partial &= static_cast<uint8_t>(~(1u << axis));
          current_.dims[d].push_back(axis);
        }
        emit(InstructionKind::reduce_scatter, axes, d, -1);
        progress |= slice();
        progress = true;
      }
    }
    AxisList axes;
    for (AxisIndex axis = 0; axis < mesh_.axis_count(); ++axis) {
      if (uses(open, axis)) axes.push_back(axis);
    }
    if (axes.empty()) return;
    current_.partial &= target_.partial;
    emit(InstructionKind::all_reduce, axes, -1, -1);
    slice();
  }

  // Same shards on other devices.
  bool permute() {
    unsigned moved = 0;
    for (int d = 0; d < current_.rank; ++d) {
      if (shard_count(current_, mesh_, d) != shard_count(target_, mesh_, d)) return false;
      if (current_.dims[d] == target_.dims[d]) continue;
      for (AxisIndex axis : current_.dims[d]) moved |= 1u << axis;
      for (AxisIndex axis : target_.dims[d]) moved |= 1u << axis;
    }
    AxisList axes;
    for (AxisIndex axis = 0; axis < mesh_.axis_count(); ++axis) {
      if ((moved >> axis) & 1) axes.push_back(axis);
    }
    current_.dims = target_.dims;
    emit(InstructionKind::collective_permute, axes, -1, -1);
    return true;
  }

  // Moves the minor axes of one dimension to another that wants them next.
  bool all_to_all() {
    for (int from = 0; from < current_.rank; ++from) {
      AxisList& source = current_.dims[from];
      for (int to = 0; to < current_.rank; ++to) {
        if (to == from || target_.dims[from].starts_with(source)) continue;
        AxisList wanted = missing_axes(current_.dims[to], target_.dims[to]);
        // The longest run of minor axes of `source` that is a prefix of what `to` wants.
        for (int length = std::min(source.count, wanted.count); length > 0; --length) {
          if (!std::equal(source.end() - length, source.end(), wanted.begin())) continue;
          AxisList moved;
          for (int i = 0; i < length; ++i) moved.push_back(wanted.axes[i]);
          for (int i = 0; i < length; ++i) source.pop_back();
          for (AxisIndex axis : moved) current_.dims[to].push_back(axis);
          emit(InstructionKind::all_to_all, moved, to, from);
          return true;
        }
      }
    }
    return false;
  }

  // Joins one dimension down to the longest prefix that the target keeps.
  void all_gather() {
    for (int d = 0; d < current_.rank; ++d) {
      AxisList& list = current_.dims[d];
      if (target_.dims[d].starts_with(list)) continue;
      int keep = 0;
      while (keep < list.count && keep < target_.dims[d].count && list.axes[keep] == target_.dims[d].axes[keep]) ++keep;
      AxisList joined;
      for (int i = keep; i < list.count; ++i) joined.push_back(list.axes[i]);
      for (int i = 0; i < joined.count; ++i) list.pop_back();
      emit(InstructionKind::all_gather, joined, -1, d);
      return;
    }
  }

  Sharding current_, target_;
  const Mesh& mesh_;
  Reduction reduction_;
  std::vector<ReshardStep> steps_;
};

}  // namespace

std::vector<ReshardStep> reshard_path(const Sharding& from, const Sharding& to, const Mesh& mesh) {
  if (from == to) return {};
  return PathBuilder(from, to, mesh).build();
}

bool exchanges_blocks(const std::vector<ReshardStep>& path) {
  return path.size() == 1 && path[0].kind == InstructionKind::all_to_all &&
         std::max(path[0].split_dim, path[0].concat_dim) <= 1;
}

double wire_bytes(const ReshardStep& step, const Sharding& from, const Mesh& mesh, const TensorType& type,
                  double* payload) {
  double local = static_cast<double>(byte_size(type.dtype));
  for (int d = 0; d < from.rank; ++d) local *= static_cast<double>(type.shape[d] / shard_count(from, mesh, d));
  double p = static_cast<double>(group_size(step.axes, mesh));
  double n = step.kind == InstructionKind::all_gather ? local * p : local;
  if (payload) *payload = step.kind == InstructionKind::slice ? 0 : n;
  switch (step.kind) {
    case InstructionKind::slice: return 0;
    case InstructionKind::collective_permute: return n;
    case InstructionKind::all_reduce: return 2 * (p - 1) / p * n;
    default: return (p - 1) / p * n;
  }
}

}  // namespace shardscope
