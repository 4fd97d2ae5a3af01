#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/instruction_kind.h"
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

// The fields of each kind of instruction. Operands and results are program values; bytes and FLOP are those of one
// device and one run. `bytes_touched`: read and written in memory.

struct Compute {
  std::vector<int> operands, results;
  double flops = 0;
  double bytes_touched = 0;
};

// Keeps the device's part of arrays that it holds more of: operands[i] -> results[i].
struct Slice {
  std::vector<int> operands, results;
  std::vector<MovedArray> moved;  // per operand
  AxisList axes;                  // that the arrays are cut along, major to minor
  double bytes_touched = 0;
};

// A collective, one exchange of a group of devices, is two instructions of a task: its start publishes the operands and
// returns, its done waits until all is exchanged and defines the results. Between them the operands stay unchanged and
// the destinations are neither read nor written. The blocking form is a done right behind its start.
//
//   start all-gather(w) -> v . compute x . done of it: v . compute with v and x
//
// Of one array or of a bucket of several: operands[i] -> destinations[i]. Wire bytes by the ring convention: all-reduce
// 2(p-1)/p n, all-gather and reduce-scatter (p-1)/p of the full size, all-to-all (p-1)/p of the local size, permute n.
struct CollectiveStart {
  InstructionKind kind = InstructionKind::all_gather;
  std::vector<int> operands, destinations;
  std::vector<MovedArray> moved;  // per operand
  AxisList axes;                  // the group, major to minor
  int64_t group_size = 1;
  Reduction reduction = Reduction::sum;  // all-reduce, reduce-scatter
  DType dtype = DType::f32;              // of all its arrays where it reduces
  int64_t payload_bytes = 0;             // n: the full size (all-gather: result, reduce-scatter: operand)
  double wire_bytes = 0;
  double bytes_touched = 0;
  // An all-to-all between the first two dimensions of rows (q, p, c, ...) may be given how many rows of each (q, p)
  // hold something: by two more operands, i32 (q, p, n), as they lie before and after it. No other rows move then;
  // bytes are those of all rows, the most there may be.
  bool counted = false;
  // A permute that is no reshard: the member at index i of the group sends to i + shift, modulo its size. 0: by what
  // each of them holds and needs.
  int64_t shift = 0;
  // The members that receive something in such a permute, ascending; none are named: all. To the others nothing is
  // sent, and they have zeros. Bytes are those of a member that sends.
  std::vector<int64_t> receivers = {};
  bool sends(int64_t member) const;
};
struct CollectiveDone {
  InstructionKind collective = InstructionKind::all_gather;  // that of its start
  int start = -1;                                            // the start's index in the task
  std::vector<int> results;                                  // its destinations
};

// One message to the device of another stage at the same place: operands of the send become results of the receive, in
// order.
struct Send {
  std::vector<int> operands;
  int channel = -1;  // of the program
  int64_t payload_bytes = 0;
};
struct Receive {
  std::vector<int> results;
  int channel = -1;
  int64_t payload_bytes = 0;
};

// One thing that every device of a stage does, at its own coordinates. What it takes in time is the plan's
// (Plan::seconds; of a start it is the transfer, of a done nothing), where its operands are is the arena's
// (ArenaLayout).
struct Instruction {
  Phase phase = Phase::forward;
  OpId op = no_id;  // graph op: the one computed, or the one that wants what is moved
  std::variant<Compute, Slice, CollectiveStart, CollectiveDone, Send, Receive> body;

  template <class Body>
  const Body* as() const {
    return std::get_if<Body>(&body);
  }
  template <class Body>
  Body* as() {
    return std::get_if<Body>(&body);
  }
  InstructionKind kind() const;       // of a start that of its collective
  InstructionKind operation() const;  // likewise of a done; of others their kind

  // What kinds have in common; empty or 0 where a kind has no such thing.
  std::span<const int> operands() const;
  std::span<const int> results() const;  // that are defined when it is done
  // Whose memory it writes: of a start its own, of a done none, else results.
  std::span<const int> destinations() const;
  std::span<const MovedArray> moved() const;
  const AxisList& axes() const;  // of a slice and a start
  int64_t group_size() const;    // 1 where it is no start
  int64_t payload_bytes() const;
  double wire_bytes() const;  // of a send its payload
  double bytes_touched() const;
  double flops() const;
  int channel() const;  // -1 where it is no transfer
};

// An instruction's name in a plan, whatever the sequence that runs it.
struct InstructionId {
  int task = -1;
  int index = -1;
  auto operator<=>(const InstructionId&) const = default;
};

// Something of every instruction, by its id.
template <class T>
struct InstructionTable {
  std::vector<std::vector<T>> tasks;  // per task, per instruction
  const T& operator[](InstructionId id) const { return tasks[id.task][id.index]; }
  T& operator[](InstructionId id) { return tasks[id.task][id.index]; }
};

}  // namespace shardscope
