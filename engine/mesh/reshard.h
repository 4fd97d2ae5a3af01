#pragma once

#include <vector>

#include "engine/base/instruction_kind.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// One step of a reshard: a slice or a collective. `axes` is the group, major to minor.
struct ReshardStep {
  InstructionKind kind = InstructionKind::slice;
  AxisList axes;
  int split_dim = -1;                    // reduce_scatter, all_to_all
  int concat_dim = -1;                   // all_gather, all_to_all
  Reduction reduction = Reduction::sum;  // all_reduce, reduce_scatter
  Sharding result;                       // after the step
};

// True where `to` can be made from `from`: a summand cannot be made from a whole value, nor of another reduction.
bool can_reshard(const Sharding& from, const Sharding& to);

// Steps from one layout of an array to another, in the order slice -> reduce -> collective-permute -> all-to-all ->
// all-gather, cheapest first: what can be cut is cut before anything moves. Empty when they are equal. Both layouts
// must divide `shape`.
//
// Example: [data][model] -> [data][] is one all-gather over model; [][]+partial{data,model} -> [][model] is a
// reduce-scatter over model, then an all-reduce over data of half the array.
std::vector<ReshardStep> reshard_path(const Sharding& from, const Sharding& to, const Mesh& mesh);

// True of a path that is one all-to-all between the first two dimensions: blocks of rows (q, p, c, ...) change devices.
bool exchanges_blocks(const std::vector<ReshardStep>& path);

// Bytes that a device sends in a step, by the ring convention, when the array is laid out as `from` before it;
// `payload` (if given) gets n, the full size of the collective's array.
double wire_bytes(const ReshardStep& step, const Sharding& from, const Mesh& mesh, const TensorType& type,
                  double* payload = nullptr);

int64_t group_size(const AxisList& axes, const Mesh& mesh);

}  // namespace shardscope
