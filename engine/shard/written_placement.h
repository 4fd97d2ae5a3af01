#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "engine/graph/op_definition.h"
#include "engine/mesh/sharding.h"
#include "engine/shard/placement.h"

namespace shardscope {

// Where the specs and propagation want the arrays, as far as they say.
struct WrittenLayouts {
  std::vector<std::optional<Sharding>> pins;  // per value: what the user said
  std::vector<std::optional<Sharding>> aims;  // per value: where it should lie, pinned or not
  std::vector<bool> bucketed = {};            // per value, or empty: see bucketed_values()
  uint8_t kept_axes = 0;  // parameters, their gradients and parts of either stay split over these where they are used
};

// Aims for `propagated` layouts (see propagate()): a forward array is where propagation puts it, its cotangent as it,
// the gradient of a parameter as the parameter, and a summand as the sum that it becomes part of. Scalars, and what
// neither has a cotangent nor is one, have no aim. `cotangents` are those of differentiate().
WrittenLayouts written_layouts(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Sharding>>& pins,
                               const std::vector<Sharding>& propagated, const std::vector<ValueId>& cotangents);

struct WrittenPlacements {
  std::vector<Placement> placements;             // per op
  std::vector<std::optional<Sharding>> defined;  // per value: the layout that it is brought to where it is defined
};

// The placement of every op in mode as_written: a rule over layouts, shapes and bytes, which knows nothing of any
// machine. For an op, the candidates put on each factor the axes that one of its arrays has there, or the major part of
// them, each axis once. Of these it takes
//   1. those that divide its work most, counted over the axes of its operands (a matrix product) or of its largest
//      operand (any other op),
//   2. among them those that leave most parameters and gradients split over the kept axes, along the dimensions that
//      these split where they lie,
//   3. among them those that move the fewest bytes, from where the operands lie and to where the results should lie,
//   4. then the fewest bytes of activations,
//   5. then those that divide the work most over all axes; then the first, factor by factor, longer lists first.
// A partial sum is reduced where it is defined, except that a sum of partial sums, which nobody else reads, is taken
// before it is reduced: also of sums that a cast widens in between, and then in the wider type. What no sum follows is
// reduced in the smaller type, in front of a cast that widens it (as XLA's programs of a cast product do), but for
// small gradients, which are reduced with others behind it. In-place ops work where their operand is.
//
// Example: kernels [null, model] then [model, null] after an array that is whole: the first product is split over its
// columns, the second over its rows, whose result is one partial sum: one all-reduce. In backward the same happens to
// the first kernel's input.
//
// Where `stop` is requested, the result is incomplete; the caller asks.
WrittenPlacements written_placements(const Graph& graph, const Mesh& mesh, const WrittenLayouts& layouts,
                                     std::stop_token stop = {});

}  // namespace shardscope
