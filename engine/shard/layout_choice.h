#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/graph/op_definition.h"
#include "engine/program/pipeline_order.h"
#include "engine/shard/layout_cost.h"
#include "engine/shard/placement.h"
#include "engine/shard/written_placement.h"

namespace shardscope {

struct LayoutProblem {
  const Graph& graph;
  const Mesh& mesh;
  const std::vector<std::optional<Sharding>>& pins;  // per value: where it is when it is defined
  const WorkPrices& prices;
  // Where a second search starts (as written); or nothing. The better result counts.
  WrittenPlacements start = {};
  // Parameters of at most this size, and their gradients, are resharded together (see lower()).
  static constexpr int64_t small_bytes = 64 * 1024;
  int64_t bucket_bytes = small_bytes;
  // Per value, or empty: as written, layouts other than that where it is defined are given up after forward.
  std::vector<bool> reshard_after_forward = {};
  // Of a step: forward and backward run so often, the update once.
  int64_t microbatches = 1;
  // Where the mesh is that of a stage, which stage does what.
  StagedOps staged = {};
  // What a device may hold, in bytes.
  int64_t memory_limit_bytes = std::numeric_limits<int64_t>::max();
};

// What was chosen for an op, and, of an op of forward, how much slower the next best choice would be, all else equal.
struct OpChoice {
  Placement placement;
  std::optional<Placement> runner_up;
  double margin_seconds = 0;
};

// A choice for every op; ops that were placed alike share one.
struct LayoutChoice {
  std::vector<OpChoice> distinct;
  std::vector<int> of_op;  // index into `distinct`
  // Per value: layouts other than that where it is defined are given up after forward and recomputed in backward.
  std::vector<bool> reshard_after_forward;
  // Of a step: what its instructions take one after the other, of all stages together (whose messages to each other are
  // left out). The same for `LayoutProblem::start` as mode as_written lowers it.
  double seconds = 0, start_seconds = std::numeric_limits<double>::infinity();

  // What any choice must hold, split among all devices, is more than the limit.
  bool nothing_fits = false;

  const OpChoice& operator[](size_t op) const { return distinct[of_op[op]]; }
  size_t size() const { return of_op.size(); }
  bool empty() const { return of_op.empty(); }
};

// Ops placed as given, with nothing to compare them with.
LayoutChoice fixed_choice(const std::vector<Placement>& placements, size_t value_count);

// Per value: whether its reshards are put together with others'.
std::vector<bool> bucketed_values(const Graph& graph, int64_t bucket_bytes);
// True of an op with several operands, all scalars: they are resharded together.
bool takes_scalars_alone(const Graph& graph, OpId op);

// Whether the program of a choice fits the memory of a device.
using FitsMemory = std::function<bool(const LayoutChoice&)>;

// Chooses a placement for every op so that the time of a step is small: the work of each op on one device (so that work
// done twice costs) plus the reshards where a value is defined in one layout and needed in others, each needed layout
// made once, small arrays with others in one collective, all as lower() makes them: of one stage the seconds are those
// of the lowered program's instructions, one after the other. The search is deterministic and works on classes of ops
// that are alike with their surroundings, such as the same op of all middle layers, with multiplicity (see
// op_classes.h). A mesh axis is put on a whole class of dimensions that are tied by the ops between them ("the batch"),
// alone or in another axis's place, then on the group of an op and its gradients, then on single ops; the casts and
// sums of a gradient are put in parts together. Every move that helps is kept, until none does. Axes on one dimension
// are tried in the mesh's order and in the orders that pins use. It starts with nothing split, and once more from
// `problem.start`. So it ends where no move
// helps, no dearer than as written, which is not always the best of all: of random graphs of three to five ops it is
// for 97 of 100, and at most 1.25 times as dear (plan/priced_layouts_test, by all combinations of placements).
//
// Where that does not fit, which `fits` is asked, bytes held from forward to backward get a price in seconds: of
// rising prices, each eight times the one before, the lowest that fits is found by bisection, then one between it and
// the one below. At a price, a layout made in forward may be given up and recomputed in backward. The result is the
// fastest choice that fits, or the fastest of all, where the highest price does not; `fits` is asked for none but the
// first where nothing can fit: what is stored as pinned, and one microbatch's values from forward to backward, each
// split among all devices, are more than the limit.
//
// In-place ops (parameter updates) stay where their parameter is pinned. Throws Failure when nothing legal exists;
// Cancelled is the caller's: an empty result means that `stop` was requested.
LayoutChoice choose_layouts(const LayoutProblem& problem, const FitsMemory& fits = {}, std::stop_token stop = {});

}  // namespace shardscope
