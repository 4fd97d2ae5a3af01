#include "engine/shard/zero_split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/config/place.h"

namespace shardscope {
namespace {

// Nothing, after an error, where the mesh has not all of them.
std::optional<std::vector<AxisIndex>> zero_axes(const ZeroConfig& zero, const Mesh& mesh, std::vector<Error>& errors) {
  std::vector<AxisIndex> axes;
  for (size_t i = 0; i < zero.axes.size(); ++i) {
    const std::string& name = zero.axes[i];
    const std::string place = zero.axes.size() > 1 ? element_place("sharding.zero.axis", i) : "sharding.zero.axis";
    const std::optional<AxisIndex> axis = mesh.find_axis(name);
    if (!axis) {
      std::vector<std::string> names;
      for (const MeshAxis& known : mesh.axes()) names.push_back(known.name);
      errors.push_back({"unknown_axis", fmt::format("the mesh has no axis '{}'", name), place, name_hint(name, names)});
      return std::nullopt;
    }
    if (std::ranges::count(axes, *axis) > 0) {
      errors.push_back({"duplicate_axis", fmt::format("'{}' is named twice", name), place, "each axis once"});
      return std::nullopt;
    }
    axes.push_back(*axis);
  }
  return axes;
}

std::vector<int64_t> sizes_of(const Mesh& mesh, std::span<const AxisIndex> axes) {
  std::vector<int64_t> sizes;
  for (AxisIndex axis : axes) sizes.push_back(mesh.axis_size(axis));
  return sizes;
}

// On the dimension whose parts are largest, of equals the first, of those that the axes divide.
bool split_once(const Mesh& mesh, const Shape& shape, std::span<const AxisIndex> axes, PartitionSpec& spec) {
  int64_t count = 1;
  for (AxisIndex axis : axes) count *= mesh.axis_size(axis);
  int largest = -1;
  int64_t most = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t part = shape[d];
    for (const std::string& used : spec.dims[d]) part /= mesh.axis_size(*mesh.find_axis(used));
    if (part % count == 0 && part > most) largest = static_cast<int>(d), most = part;
  }
  if (largest < 0) return false;
  for (AxisIndex axis : axes) spec.dims[static_cast<size_t>(largest)].push_back(mesh.axes()[axis].name);
  return true;
}

// Puts those of the axes that the spec has not yet on one dimension; where none divides by them all, as many of the
// first as divide one. False where it puts none, and the spec has none.
bool split_further(const Mesh& mesh, const Shape& shape, std::vector<AxisIndex> axes, PartitionSpec& spec) {
  spec.dims.resize(shape.size());
  const auto is_used = [&](AxisIndex axis) {
    return std::ranges::any_of(spec.dims,
                               [&](const auto& dim) { return std::ranges::count(dim, mesh.axes()[axis].name) > 0; });
  };
  const bool has_some = std::erase_if(axes, is_used) > 0;
  for (; !axes.empty(); axes.pop_back()) {
    if (split_once(mesh, shape, axes, spec)) return true;
  }
  return has_some;
}

}  // namespace

void split_by_zero(const ZeroConfig& zero, const Mesh& mesh, std::span<const SpecTarget> targets,
                   ResolvedSpecs& result) {
  if (zero.stage == 0) return;
  const std::optional<std::vector<AxisIndex>> axes = zero_axes(zero, mesh, result.errors);
  if (!axes) return;
  const std::vector<ResolvedSpec> before = result.specs;
  int whole = 0;
  std::string first;
  for (size_t t = 0; t < targets.size(); ++t) {
    const SpecTarget& target = targets[t];
    const bool split = (target.kind == SpecKind::optimizer_state && zero.stage >= 1) ||
                       (target.kind == SpecKind::gradient && zero.stage >= 2) ||
                       (target.kind == SpecKind::parameter && zero.stage >= 3);
    ResolvedSpec& resolved = result.specs[t];
    const bool by_itself = target.kind != SpecKind::parameter && !resolved.place.empty();
    if (!split || by_itself || target.type.shape.empty()) continue;
    if (target.kind == SpecKind::gradient) resolved.spec = before[static_cast<size_t>(target.follows)].spec;
    if (!split_further(mesh, target.type.shape, *axes, resolved.spec)) {
      if (++whole == 1) first = target.name;
      continue;
    }
    resolved.pinned = true;
    if (resolved.place.empty()) resolved.place = zero_place;
    resolved.origin = fmt::format("{}: stage {} over '{}'", zero_place, zero.stage, fmt::join(zero.axes, ", "));
  }
  if (whole == 0) return;
  std::string message = fmt::format("no dimension of '{}' divides by {} ({}) once more: it stays as it was", first,
                                    fmt::join(zero.axes, ", "), fmt::join(sizes_of(mesh, *axes), ", "));
  if (whole > 1) message += fmt::format("; {} more", whole - 1);
  result.warnings.push_back({"replicated", std::move(message), "sharding.zero", ""});
}

}  // namespace shardscope
