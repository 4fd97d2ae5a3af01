#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "engine/graph/op_definition.h"
#include "engine/shard/layout_cost.h"
#include "engine/shard/placement.h"

namespace shardscope {

struct LayoutProblem {
  const Graph& graph;
  const Mesh& mesh;
  const std::vector<FactorRule>& rules;              // per op
  const std::vector<std::optional<Sharding>>& pins;  // per value: where it lies when it is defined
  CostRates rates;
  // Layouts where a second search starts (as written), per value where there is one; or empty. The better result
  // counts.
  std::vector<std::optional<Sharding>> start = {};
  // Parameters of at most this size, and their gradients, are resharded together (see lower()).
  int64_t bucket_bytes = 64 * 1024;
};

// What was chosen for an op, and how much slower the next best choice would be, all else equal.
struct OpChoice {
  Placement placement;
  std::optional<Placement> runner_up;
  double margin_seconds = 0;
};

// Per value: whether its reshards are put together with others'.
std::vector<bool> bucketed_values(const Graph& graph, int64_t bucket_bytes);

// Chooses a placement for every op so that the time of a step is small: the work of each op on one device (so that work
// done twice costs) plus the reshards where a value is defined in one layout and needed in others, each needed layout
// made once. Deterministic search: a mesh axis is put on a whole class of dimensions that are tied by the ops between
// them ("the batch"), alone or in another axis's place, then on the group of an op and its gradients, then on single
// ops; every move that helps is kept, until none does. It starts with nothing split, and once more from
// `problem.start`. In-place ops (parameter updates) stay where their parameter is pinned. Throws Failure when nothing
// legal exists; Cancelled is the caller's: an empty result means that `stop` was requested.
std::vector<OpChoice> choose_layouts(const LayoutProblem& problem, std::stop_token stop = {});

}  // namespace shardscope
