#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/mesh/piece_moves.h"
#include "engine/plan/plan.h"

namespace shardscope {

// One step of a plan that moves an array, as a film: who gives which piece to whom.
struct ReplayLeg {
  InstructionId step;
  PieceMoves moves;
  std::vector<int> devices;  // that take part, ascending
  std::string title;         // "all-gather over data"
  int turns = 1;             // of each round
  int first_tick = 0;        // of the replay

  int ticks() const { return turns * moves.rounds(); }
};

// A reshard as its plan does it: the steps, one after the other, that bring one array from the layout in which an op
// left it to that in which another one wants it.
//
// Time is counted in ticks. In each tick a device gives one piece, or where its group is large a few, to the devices so
// many places further in its group: a picture of what a collective does in one go, in an order that can be followed.
struct Replay {
  std::shared_ptr<const Plan> plan;
  std::string array;  // "Embed_0/embedding"
  Shape shape;
  DType dtype = DType::f32;
  std::vector<ReplayLeg> legs;
  int chosen_leg = 0;  // that of the step it was made for
  int ticks = 0;
};

// Whether a step shards arrays out anew; a receive has them as outputs, others as inputs.
bool can_replay(const Instruction& instruction);
std::span<const int> moved_values(const Instruction& instruction);

// Of the operand of `step` with that number (a bucket has several); nothing for a step that moves no array. A receive
// is shown as the send that it belongs to.
std::optional<Replay> make_replay(std::shared_ptr<const Plan> plan, InstructionId step, int operand = 0);

// A moment of a replay: `at` ticks into a round of a leg. The end of a leg is the beginning of the next.
struct ReplayMoment {
  int leg = 0, round = 0;
  double at = 0;
};
ReplayMoment moment_of(const Replay& replay, double tick);

// A piece, and in which tick of its round it goes; one that stays where it is goes in none (-1).
struct TimedPiece {
  MovedPiece piece;
  int round = 0;
  int turn = 0;
};
// 0 before it goes, 1 when it has come.
double progress_of(const TimedPiece& piece, const ReplayMoment& moment);

// Whose pieces are shown: those of every device, of the group of one, or where even that is too much what one device
// gives and gets.
enum class PieceScope : uint8_t { all, group, device };
PieceScope piece_scope(const ReplayLeg& leg);

// In order of time, then of devices.
std::vector<TimedPiece> pieces_of(const ReplayLeg& leg, int device);

// Two dimensions of an array in which to draw its parts: those that the layouts split, else the largest; -1: none.
struct DrawnDims {
  int row = -1, column = -1;
};
DrawnDims drawn_dims(const ReplayLeg& leg);

// "[0:256, 0:512]", "part 2 of 4 of [0:256, 0:512]"
std::string piece_text(const MovedPiece& piece);

}  // namespace shardscope
