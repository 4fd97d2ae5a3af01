#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "engine/base/step_kind.h"
#include "engine/graph/graph.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// Why an array is moved: op `user` wants it as program value `to`, made from program value `from`.
struct Cause {
  OpId user = no_id;
  int from = -1;
  int to = -1;
};

// What a reshard does to one of its arrays.
struct MovedArray {
  int split_dim = -1;   // reduce-scatter, all-to-all
  int concat_dim = -1;  // all-gather, all-to-all
  Cause cause;
};

// One thing that every device does, at its own coordinates. What it costs in time is the plan's (Plan::seconds), where
// its operands lie is the arena's (ArenaLayout).
struct Step {
  StepKind kind = StepKind::compute;
  Phase phase = Phase::forward;
  OpId op = no_id;           // graph op: the one computed, or the one that wants the reshard
  std::vector<int> inputs;   // program values
  std::vector<int> outputs;  // a reshard, also of a bucket, has inputs[i] -> outputs[i]; send has none
  double flops = 0;          // per device
  double bytes_touched = 0;  // per device, of memory

  // Reshards. Bytes are per device and step; wire bytes by the ring convention: all-reduce 2(p-1)/p n,
  // all-gather and reduce-scatter (p-1)/p of the full size, all-to-all (p-1)/p of the local size, permute n.
  AxisList axes;  // the group, major to minor
  int64_t group_size = 1;
  Reduction reduction = Reduction::sum;  // all-reduce, reduce-scatter
  DType dtype = DType::f32;              // of all its arrays where it reduces
  std::vector<MovedArray> moved;         // per input
  int64_t payload_bytes = 0;             // n: the full size (all-gather: result, reduce-scatter: operand)
  double wire_bytes = 0;

  // Send and receive: which of the program's channels. Inputs of the one become outputs of the other, in order.
  int channel = -1;
};

// A step's name in a plan, whatever the sequence that runs it.
struct StepId {
  int task = -1;
  int step = -1;
  auto operator<=>(const StepId&) const = default;
};

// Something of every step, by its id.
template <class T>
struct StepTable {
  std::vector<std::vector<T>> tasks;  // per task, per step
  const T& operator[](StepId id) const { return tasks[id.task][id.step]; }
  T& operator[](StepId id) { return tasks[id.task][id.step]; }
};

}  // namespace shardscope
