#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/comm/call_kind.h"
#include "engine/comm/communicator.h"

namespace shardscope {

// Rows of `run` contiguous bytes: `outer` x `rows` of them, `outer_stride` and `row_stride` bytes apart.
struct Stride {
  int64_t outer = 0;
  int64_t row = 0;
};

// One array of a call, as addresses and strides. The piece that sender i has for receiver j begins at
// source + j * source_block and goes to destination + i * destination_block; it is outer x rows runs of `run` bytes.
// An all-reduce is flat: one run.
//
// Example: all_gather of (2, 3) f32 over dimension 1 by 4 ranks: 2 rows of 12 bytes, 12 bytes apart in the source and
// 48 in the destination; source_block 0, destination_block 12.
struct CallPart {
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
  int64_t source_bytes = 0;
  int64_t destination_bytes = 0;
  int64_t outer = 1, rows = 1, run = 0;
  Stride source_stride, destination_stride;
  int64_t source_block = 0, destination_block = 0;

  // All-to-all of counted rows: block i of the destination, of block_bytes, begins with as many rows of row_bytes as
  // received_rows[i * row_groups] and the next row_groups - 1 numbers say, one of the source likewise by sent_rows, and
  // runs are whole blocks. Else nullptr.
  const int32_t *sent_rows = nullptr, *received_rows = nullptr;
  int64_t row_groups = 1, row_bytes = 0, block_bytes = 0;

  int64_t piece_bytes() const { return outer * rows * run; }
  // Strides of a piece that is contiguous.
  Stride packed() const { return {rows * run, run}; }
};

// A checked call, ready to be carried out. Kept and refilled, so that a repeated call allocates nothing.
struct CollectiveCall {
  CallKind kind = CallKind::barrier;
  std::vector<CallPart> parts;
  std::vector<int> destination_of;       // permute; -1: to nobody
  Reduction reduction = Reduction::sum;  // all-reduce, reduce-scatter: the same for all parts, as is the type
  DType dtype = DType::f32;
  int64_t source_bytes = 0;  // of all parts
  uint64_t signature = 0;    // equal on all members when they make the same call (addresses aside)

  // Fills this from the arguments of one of `size` members; `rank` is its name in messages. Throws Failure
  // comm_argument, with the part's number as the place: no such dimension, a size that does not divide, a type of
  // which no sum or maximum is taken, parts of different types or reductions in one, a missing array, a destination
  // that overlaps its source (all-reduce: that is not its source), two ranks that send to the same one.
  void assign(CallKind kind, std::span<const CollectivePart> arguments, std::span<const int> destination_of, int rank,
              int size);

  // Bytes that a member sends, by the ring convention (see CommunicationRecord).
  double wire_bytes(int member, int size) const;
  // Of a permute: who sends to a member; -1: nobody. A member sends in every other call.
  int sender_to(int member) const;
  bool sends(int member) const { return kind != CallKind::permute || destination_of[static_cast<size_t>(member)] >= 0; }
};

}  // namespace shardscope
