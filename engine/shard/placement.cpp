#include "engine/shard/placement.h"

#include <algorithm>

#include "engine/mesh/reshard.h"

namespace shardscope {

namespace {

constexpr size_t max_placements = 4096;

Sharding project(const std::vector<DimensionFactors>& dims, const Placement& placement) {
  Sharding sharding = Sharding::replicated(static_cast<int>(dims.size()));
  for (size_t d = 0; d < dims.size(); ++d) sharding.dims[d] = dimension_axes(dims[d], placement);
  sharding.partial = placement.partial;
  return sharding;
}

}  // namespace

AxisList dimension_axes(const DimensionFactors& dimension, const Placement& placement) {
  AxisList axes;
  for (int factor : dimension) {
    for (AxisIndex axis : placement.factors[factor]) axes.push_back(axis);
  }
  return axes;
}

void add_dimension_axes(const FactorRule& rule, const DimensionFactors& dimension, const AxisList& axes,
                        const Mesh& mesh, Placement& placement) {
  size_t f = 0;
  int64_t left = dimension.empty() ? 1 : rule.factors[dimension[0]].size;
  for (AxisIndex axis : axes) {
    while (left == 1 && f + 1 < dimension.size()) left = rule.factors[dimension[++f]].size;
    if (f >= dimension.size() || left % mesh.axis_size(axis) != 0 || !rule.factors[dimension[f]].splittable) return;
    placement.factors[dimension[f]].push_back(axis);
    left /= mesh.axis_size(axis);
  }
}

int ring_factor(const FactorRule& rule, const Placement& placement) {
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].ring != 0 && !placement.factors[f].empty()) return static_cast<int>(f);
  }
  return -1;
}

bool is_contiguous(const FactorRule& rule, const Placement& placement, const Mesh& mesh) {
  auto fits = [&](const std::vector<DimensionFactors>& dims) {
    for (const DimensionFactors& dimension : dims) {
      if (dimension.size() < 2) continue;
      bool whole = true;
      for (int factor : dimension) {
        const int64_t parts = group_size(placement.factors[factor], mesh);
        if (parts > 1 && !whole) return false;
        whole &= parts == rule.factors[factor].size;
      }
    }
    return true;
  };
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const int64_t parts = group_size(placement.factors[f], mesh);
    if (rule.factors[f].ring != 0 && parts > 1 && parts != rule.factors[f].size) return false;
  }
  for (const auto& dims : rule.operands) {
    if (!fits(dims)) return false;
  }
  for (const auto& dims : rule.results) {
    if (!fits(dims)) return false;
  }
  return true;
}

Sharding operand_sharding(const FactorRule& rule, const Placement& placement, int operand) {
  return project(rule.operands[operand], placement);
}

Sharding result_sharding(const FactorRule& rule, const Placement& placement, int result) {
  Sharding sharding = project(rule.results[result], placement);
  uint8_t shown = sharding.used_axes();
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    for (AxisIndex axis : placement.factors[f]) sharding.partial |= static_cast<uint8_t>((1u << axis) & ~shown);
  }
  if (sharding.partial) sharding.reduction = rule.reductions[result];
  return sharding;
}

int dimension_of(const std::vector<DimensionFactors>& dims, int factor) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (std::find(dims[d].begin(), dims[d].end(), factor) != dims[d].end()) return static_cast<int>(d);
  }
  return -1;
}

AxisList factor_axes(const FactorRule& rule, const std::vector<DimensionFactors>& dims, int factor,
                     const Sharding& sharding, const Mesh& mesh) {
  const int dim = dimension_of(dims, factor);
  if (dim < 0) return {};
  if (dims[dim].size() == 1) return sharding.dims[dim];
  Placement split;
  add_dimension_axes(rule, dims[dim], sharding.dims[dim], mesh, split);
  return split.factors[factor];
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
  return is_contiguous(rule, placement, mesh);
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
  std::erase_if(placements, [&](const Placement& placement) { return !is_contiguous(rule, placement, mesh); });
  return placements;
}

Placement placement_at(const FactorRule& rule, const std::vector<DimensionFactors>& dims, const Sharding& sharding,
                       const Mesh& mesh) {
  Placement placement;
  for (size_t d = 0; d < dims.size(); ++d) add_dimension_axes(rule, dims[d], sharding.dims[d], mesh, placement);
  return placement;
}

}  // namespace shardscope
