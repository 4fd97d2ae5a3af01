#pragma once

#include <array>
#include <vector>

#include "engine/graph/op_definition.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// How one op is split over the mesh: for each of its factors the mesh axes that split it, and the axes over which it
// works on partial sums (linear ops only). Axes that occur nowhere do the same work on every device.
//
// Example: einsum "bse,ef->bsf" (factors b, s, e, f) with b:[data], e:[model] takes [data][][model] and [model][], and
// gives [data][][] + partial{model}.
struct Placement {
  std::array<AxisList, FactorRule::max_factors> factors{};
  uint8_t partial = 0;
  bool operator==(const Placement&) const = default;
};

// Layouts that a placement asks of operand i and gives to result i.
Sharding operand_sharding(const FactorRule& rule, const Placement& placement, int operand);
Sharding result_sharding(const FactorRule& rule, const Placement& placement, int result);

// The way back, for an array whose dimensions are the factors `dims` (an entry of FactorRule::operands or results).
// The dimension that `factor` is part of, or -1; and the axes that split the factor where the array is laid out as
// `sharding`.
int dimension_of(const std::vector<DimensionFactors>& dims, int factor);
AxisList factor_axes(const FactorRule& rule, const std::vector<DimensionFactors>& dims, int factor,
                     const Sharding& sharding, const Mesh& mesh);

// The axes of one dimension from those of its factors, and back: an axis belongs to the most major factor that is not
// wholly split yet. Axes that fit no factor are left out, and those behind them.
//
// Example: (h, d) = (4, 16) and axes [a, b, c] of sizes 2, 2, 8 is h:[a, b], d:[c]; with a of size 3 it is nothing.
AxisList dimension_axes(const DimensionFactors& dimension, const Placement& placement);
void add_dimension_axes(const FactorRule& rule, const DimensionFactors& dimension, const AxisList& axes,
                        const Mesh& mesh, Placement& placement);
// True where every dimension is cut into contiguous parts: a factor is split only where those before it in its
// dimension are split wholly; and every factor that goes round a ring into single indices or not at all.
// The factor round which the op passes its operand on between devices; -1: there is none, or it is not split.
int ring_factor(const FactorRule& rule, const Placement& placement);
bool is_contiguous(const FactorRule& rule, const Placement& placement, const Mesh& mesh);

// True where every factor may be split as the placement says: splittable, divided, no axis twice, partial only if
// linear, and contiguous.
bool is_legal(const FactorRule& rule, const Placement& placement, const Mesh& mesh);

// All legal placements of an op: each axis of size > 1 on one splittable factor that it divides, on none, or on partial
// (linear ops). Axes on one factor are ordered as in `axis_order`. Ordered: the first splits nothing. On
// meshes of many axes, where there would be thousands, the last axes split only the first of the others' placements.
std::vector<Placement> legal_placements(const FactorRule& rule, const Mesh& mesh,
                                        const std::vector<AxisIndex>& axis_order);

// The placement of an op that leaves no choice, because of one array whose dimensions are the factors `dims` and that
// is laid out as `sharding`, in whatever axis order.
Placement placement_at(const FactorRule& rule, const std::vector<DimensionFactors>& dims, const Sharding& sharding,
                       const Mesh& mesh);

}  // namespace shardscope
