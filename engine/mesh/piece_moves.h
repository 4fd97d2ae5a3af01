#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/instruction_kind.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// A piece of an array that one device gives to another, or keeps.
struct MovedPiece {
  int from = 0, to = 0;     // devices; the same where it stays
  Box box;                  // of the whole array
  int part = 0, parts = 1;  // that part alone of so many equal ones of the box's elements, in row-major order
  bool reduced = false;     // joined with what the other devices give of it, by sum or maximum

  int64_t first_element() const { return element_count(box.size) * part / parts; }  // of the box
  int64_t elements() const { return element_count(box.size) * (part + 1) / parts - first_element(); }
  bool operator==(const MovedPiece&) const = default;
};

// A step that moves an array: a slice, a collective, or a send and its receive.
struct ArrayMove {
  InstructionKind kind = InstructionKind::slice;
  AxisList axes;  // the group, major to minor; of a send the axis of the stages
  Shape shape;
  Sharding before, after;  // of a send the same
  int from_stage = 0, to_stage = 0;
};

// Who gives which piece to whom. All pieces of a round move at a time; a device then holds what came to it in the
// round, and of an all-reduce's second round also what it had finished in the first. Nothing is computed before it is
// asked for: a group of p devices has p * p pieces.
//
// Example: an all-gather of [data][] to [][] over data=4 has one round, in which every device gets one piece from each
// of four, the one that it holds among them. An all-reduce over data=4 has two: in the first, the device at place i of
// the group gets the i-th of four parts from each, and sums them; in the second each gives its sum to the others. So
// each device sends 2 (p-1)/p of the array, which is what wire_bytes() says.
class PieceMoves {
 public:
  // `mesh` must outlive it.
  PieceMoves(ArrayMove move, const Mesh& mesh);

  int rounds() const { return move_.kind == InstructionKind::all_reduce ? 2 : 1; }
  // The devices that exchange pieces with `device`, itself among them, in the order of the group.
  std::vector<int> group(int device) const;
  int group_size() const;
  int place(int device) const;  // of a device in the group of a collective
  // What a device gets in a round, and what it gives; what it keeps is in both. In the order of the group.
  std::vector<MovedPiece> into(int device, int round) const { return pieces(device, round, true); }
  std::vector<MovedPiece> out_of(int device, int round) const { return pieces(device, round, false); }

  // The part of the array that a device holds before and after; of a send the sender's, and the receiver's, nothing
  // else.
  bool holds_before(int device) const;
  bool holds_after(int device) const;
  Box before(int device) const { return shard_box(move_.before, *mesh_, move_.shape, device); }
  Box after(int device) const { return shard_box(move_.after, *mesh_, move_.shape, device); }
  const ArrayMove& move() const { return move_; }

 private:
  using Axes = std::vector<AxisIndex>;
  Axes axes() const { return {move_.axes.begin(), move_.axes.end()}; }
  std::vector<MovedPiece> pieces(int device, int round, bool comes) const;
  void add(std::vector<MovedPiece>& pieces, const std::vector<int>& group, size_t from, size_t to, int round) const;

  ArrayMove move_;
  const Mesh* mesh_;
};

}  // namespace shardscope
