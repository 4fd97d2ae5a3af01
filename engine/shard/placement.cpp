#include "engine/shard/placement.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr size_t max_placements = 4096;

Sharding project(const std::vector<int>& dims, const Placement& placement) {
  Sharding sharding = Sharding::replicated(static_cast<int>(dims.size()));
  for (size_t d = 0; d < dims.size(); ++d) sharding.dims[d] = placement.factors[dims[d]];
  sharding.partial = placement.partial;
  return sharding;
}

}  // namespace

Sharding operand_sharding(const FactorRule& rule, const Placement& placement, int operand) {
  return project(rule.operands[operand], placement);
}

Sharding result_sharding(const FactorRule& rule, const Placement& placement, int result) {
  Sharding sharding = project(rule.results[result], placement);
  uint8_t shown = sharding.used_axes();
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    for (AxisIndex axis : placement.factors[f]) sharding.partial |= static_cast<uint8_t>((1u << axis) & ~shown);
  }
  return sharding;
}

int dimension_of(const std::vector<int>& dims, int factor) {
  auto found = std::find(dims.begin(), dims.end(), factor);
  return found == dims.end() ? -1 : static_cast<int>(found - dims.begin());
}

AxisList factor_axes(const std::vector<int>& dims, int factor, const Sharding& sharding) {
  const int dim = dimension_of(dims, factor);
  return dim < 0 ? AxisList{} : sharding.dims[dim];
}

bool is_legal(const FactorRule& rule, const Placement& placement, const Mesh& mesh) {
  if (placement.partial && !rule.linear) return false;
  unsigned used = placement.partial;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const AxisList& axes = placement.factors[f];
    if (axes.empty()) continue;
    if (!rule.factors[f].splittable) return false;
    int64_t parts = 1;
    for (AxisIndex axis : axes) {
      if ((used >> axis) & 1) return false;
      used |= 1u << axis;
      parts *= mesh.axis_size(axis);
    }
    if (rule.factors[f].size % parts != 0) return false;
  }
  return true;
}

std::vector<Placement> legal_placements(const FactorRule& rule, const Mesh& mesh,
                                        const std::vector<AxisIndex>& axis_order) {
  std::vector<Placement> placements{Placement{}};
  for (AxisIndex axis : axis_order) {
    if (mesh.axis_size(axis) == 1) continue;
    std::vector<Placement> extended = placements;
    auto full = [&] { return extended.size() >= max_placements; };
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      if (!rule.factors[f].splittable) continue;
      for (const Placement& placement : placements) {
        int64_t parts = mesh.axis_size(axis);
        for (AxisIndex other : placement.factors[f]) parts *= mesh.axis_size(other);
        if (rule.factors[f].size % parts != 0 || full()) continue;
        Placement next = placement;
        next.factors[f].push_back(axis);
        extended.push_back(next);
      }
    }
    if (rule.linear) {
      for (const Placement& placement : placements) {
        if (full()) break;
        Placement next = placement;
        next.partial |= static_cast<uint8_t>(1u << axis);
        extended.push_back(next);
      }
    }
    placements = std::move(extended);
  }
  return placements;
}

Placement placement_in_place(const FactorRule& rule, int operand, const Sharding& sharding) {
  Placement placement;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    placement.factors[f] = factor_axes(rule.operands[operand], static_cast<int>(f), sharding);
  }
  return placement;
}

int64_t division(const FactorRule& rule, const Placement& placement, const Mesh& mesh) {
  int64_t parts = 1;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    for (AxisIndex axis : placement.factors[f]) parts *= mesh.axis_size(axis);
  }
  return parts;
}

}  // namespace shardscope
