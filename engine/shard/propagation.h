#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/graph/op_definition.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// Told of each axis that propagation puts on a value: dimension `dim` of `value` got `axis` through `op`.
using PropagationObserver = std::function<void(ValueId value, int dim, AxisIndex axis, OpId op)>;

// Spreads the pinned layouts over the forward ops, after Shardy (openxla/shardy, sharding propagation): per op, the
// longest compatible list of major axes of a factor goes to every open value that has the factor, if the axes are free
// there and divide. In Shardy's stages:
//   1. through ops that only pass dimensions through (add, gelu);
//   2. through the dimensions that any op passes through (batch and columns of a product);
//   3. through contractions too;
//   4. and from what is broadcast (a bias, a position table), which until then takes layouts but gives none.
// Counts of rows (OpDefinition::counts_operand) give none at all: they follow the rows.
// In each, ops in graph order, then in reverse, until nothing changes. Lists only grow, so it terminates; the order is
// fixed, so it is deterministic. Where two lists disagree the common major part is taken. Returns a layout for every
// value that a forward op touches.
std::vector<Sharding> propagate(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Sharding>>& pins,
                                const PropagationObserver& observer = {});

}  // namespace shardscope
