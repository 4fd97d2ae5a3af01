#include "viz/paint/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "viz/paint/layout_geometry.h"

namespace shardscope {
namespace {

constexpr int most_turns = 24;
constexpr int64_t most_pieces = 4096;
constexpr int largest_group = 64;

std::string axis_names(const Mesh& mesh, const AxisList& axes) {
  std::vector<std::string> names;
  for (const AxisIndex axis : axes) names.push_back(mesh.axes()[axis].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// The send that fills a receive's outputs.
std::optional<InstructionId> sender_of(const Plan& plan, int channel) {
  for (int task = 0; task < static_cast<int>(plan.program.tasks.size()); ++task) {
    const std::vector<Instruction>& steps = plan.program.tasks[task].instructions;
    for (int i = 0; i < static_cast<int>(steps.size()); ++i)
      if (steps[i].kind() == InstructionKind::send && steps[i].channel() == channel) return InstructionId{task, i};
  }
  return std::nullopt;
}

bool moves_data(const Instruction& instruction) {
  return !instruction.as<Compute>() && !instruction.as<CollectiveDone>();
}

// A step of the reshard of a value, and which of the step's operands the value is.
struct Operand {
  InstructionId step;
  int number = 0;
};

class Maker {
 public:
  explicit Maker(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  std::optional<Replay> make(Operand chosen) {
    if (const Instruction& instruction = at(chosen.step); instruction.kind() == InstructionKind::receive) {
      const std::optional<InstructionId> sender = sender_of(*plan_, instruction.channel());
      if (!sender) return std::nullopt;
      chosen.step = *sender;
    }
    const Instruction& instruction = at(chosen.step);
    if (!moves_data(instruction) || chosen.number >= array_count(instruction)) return std::nullopt;
    std::vector<Operand> chain{chosen};
    if (instruction.kind() != InstructionKind::send) {
      while (const std::optional<Operand> before = maker_of(chain.front())) chain.insert(chain.begin(), *before);
      while (const std::optional<Operand> after = taker_of(chain.back())) chain.push_back(*after);
    }
    Replay replay;
    replay.plan = plan_;
    const ProgramValue& value = plan_->program.values[instruction.operands()[chosen.number]];
    replay.array = plan_->value_name(instruction.operands()[chosen.number]);
    replay.shape = value.shape;
    replay.dtype = value.dtype;
    for (const Operand& operand : chain) {
      if (operand.step == chosen.step) replay.chosen_leg = static_cast<int>(replay.legs.size());
      replay.legs.push_back(leg_of(operand));
      replay.legs.back().first_tick = replay.ticks;
      replay.ticks += replay.legs.back().ticks();
    }
    return replay;
  }

 private:
  const Instruction& at(InstructionId id) const { return plan_->program.tasks[id.task].instructions[id.index]; }

  // Steps of a reshard follow each other, perhaps with other steps between them, and have one cause.
  std::optional<Operand> maker_of(const Operand& operand) const {
    const int value = at(operand.step).operands()[operand.number];
    for (InstructionId id{operand.step.task, operand.step.index - 1}; id.index >= 0; --id.index)
      if (const std::optional<int> number = place_in(at(id), at(id).destinations(), value))
        return joined({id, *number}, operand);
    return std::nullopt;
  }

  std::optional<Operand> taker_of(const Operand& operand) const {
    if (operand.number >= static_cast<int>(at(operand.step).destinations().size())) return std::nullopt;
    const int value = at(operand.step).destinations()[operand.number];
    const int count = static_cast<int>(plan_->program.tasks[operand.step.task].instructions.size());
    for (InstructionId id{operand.step.task, operand.step.index + 1}; id.index < count; ++id.index)
      if (const std::optional<int> number = place_in(at(id), at(id).operands(), value))
        if (joined({id, *number}, operand)) return Operand{id, *number};
    return std::nullopt;
  }

  // Counts, which say how much of an array moves, are no arrays of its own.
  static int array_count(const Instruction& instruction) {
    return static_cast<int>(instruction.moved().empty() ? instruction.operands().size() : instruction.moved().size());
  }

  std::optional<Operand> joined(const Operand& found, const Operand& operand) const {
    if (found.number >= array_count(at(found.step))) return std::nullopt;
    const Cause &a = at(found.step).moved()[found.number].cause, &b = at(operand.step).moved()[operand.number].cause;
    return a.user == b.user && a.to == b.to ? std::optional(found) : std::nullopt;
  }

  static std::optional<int> place_in(const Instruction& instruction, std::span<const int> values, int value) {
    if (!moves_data(instruction) || is_transfer(instruction.kind())) return std::nullopt;
    const auto found = std::ranges::find(values, value);
    return found == values.end() ? std::nullopt : std::optional(static_cast<int>(found - values.begin()));
  }

  ReplayLeg leg_of(const Operand& operand) const {
    const Instruction& instruction = at(operand.step);
    const Mesh& mesh = plan_->mesh;
    const int stage = plan_->program.tasks[operand.step.task].stage;
    const ProgramValue& from = plan_->program.values[instruction.operands()[operand.number]];
    ArrayMove move{instruction.kind(), instruction.axes(), from.shape, from.sharding, from.sharding, 0, 0};
    std::vector<int> devices = plan_->devices_of_stage(stage);
    std::string title;
    if (instruction.kind() == InstructionKind::send) {
      const StageChannel& channel = plan_->program.channels[instruction.channel()];
      move.axes = {};
      move.axes.push_back(*plan_->pipeline.axis);
      move.from_stage = channel.from;
      move.to_stage = channel.to;
      const std::vector<int> receivers = plan_->devices_of_stage(channel.to);
      devices.insert(devices.end(), receivers.begin(), receivers.end());
      std::ranges::sort(devices);
      title = fmt::format("send from stage {} to stage {}", channel.from, channel.to);
    } else {
      move.after = plan_->program.values[instruction.destinations()[operand.number]].sharding;
      title = instruction.axes().empty()
                  ? std::string(name(instruction.kind()))
                  : fmt::format("{} over {}", name(instruction.kind()), axis_names(mesh, instruction.axes()));
    }
    ReplayLeg leg{operand.step, PieceMoves(std::move(move), mesh), std::move(devices), std::move(title), 1, 0};
    if (instruction.kind() != InstructionKind::collective_permute)
      leg.turns = std::clamp(leg.moves.group_size() - 1, 1, most_turns);
    return leg;
  }

  std::shared_ptr<const Plan> plan_;
};

}  // namespace

std::span<const int> moved_values(const Instruction& instruction) {
  return instruction.kind() == InstructionKind::receive ? instruction.results() : instruction.operands();
}

bool can_replay(const Instruction& instruction) {
  return moves_data(instruction) && !moved_values(instruction).empty();
}

std::optional<Replay> make_replay(std::shared_ptr<const Plan> plan, InstructionId step, int operand) {
  return Maker(std::move(plan)).make({step, operand});
}

ReplayMoment moment_of(const Replay& replay, double tick) {
  tick = std::clamp(tick, 0.0, static_cast<double>(replay.ticks));
  int number = static_cast<int>(replay.legs.size()) - 1;
  while (number > 0 && tick < replay.legs[number].first_tick) --number;
  const ReplayLeg& leg = replay.legs[number];
  const double into = tick - leg.first_tick;
  const int round = std::min(static_cast<int>(into / leg.turns), leg.moves.rounds() - 1);
  return {number, round, into - round * leg.turns};
}

double progress_of(const TimedPiece& piece, const ReplayMoment& moment) {
  if (piece.round != moment.round) return piece.round < moment.round ? 1 : 0;
  return std::clamp(moment.at - piece.turn, 0.0, 1.0);
}

PieceScope piece_scope(const ReplayLeg& leg) {
  const auto devices = static_cast<int64_t>(leg.devices.size());
  const int group = leg.moves.group_size();
  if (devices * group <= most_pieces) return PieceScope::all;
  return group <= largest_group ? PieceScope::group : PieceScope::device;
}

std::vector<TimedPiece> pieces_of(const ReplayLeg& leg, int device) {
  const PieceScope scope = piece_scope(leg);
  const int size = leg.moves.group_size();
  std::vector<TimedPiece> pieces;
  const auto add = [&](const MovedPiece& piece, int round) {
    if (piece.from == piece.to) return pieces.push_back({piece, round, -1});
    const int further = (leg.moves.place(piece.to) - leg.moves.place(piece.from) + size) % size;
    pieces.push_back({piece, round, leg.turns > 1 ? (further - 1) * leg.turns / (size - 1) : 0});
  };
  const std::vector<int> receivers = scope == PieceScope::all     ? leg.devices
                                     : scope == PieceScope::group ? leg.moves.group(device)
                                                                  : std::vector<int>{device};
  for (int round = 0; round < leg.moves.rounds(); ++round) {
    for (const int receiver : receivers)
      for (const MovedPiece& piece : leg.moves.into(receiver, round)) add(piece, round);
    if (scope != PieceScope::device) continue;
    for (const MovedPiece& piece : leg.moves.out_of(device, round))
      if (piece.to != device) add(piece, round);
  }
  std::ranges::stable_sort(pieces, {}, [](const TimedPiece& timed) { return std::pair(timed.round, timed.turn); });
  return pieces;
}

DrawnDims drawn_dims(const ReplayLeg& leg) {
  const ArrayMove& move = leg.moves.move();
  const int rank = static_cast<int>(move.shape.size());
  std::vector<int> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  const auto split = [&](int d) { return !move.before.dims[d].empty() || !move.after.dims[d].empty(); };
  std::ranges::stable_sort(dims, std::greater(), [&](int d) { return std::pair(split(d), move.shape[d]); });
  dims.resize(std::min(rank, 2));
  std::ranges::sort(dims);
  if (dims.empty()) return {};
  return dims.size() == 1 ? DrawnDims{-1, dims[0]} : DrawnDims{dims[0], dims[1]};
}

std::string piece_text(const MovedPiece& piece) {
  const std::string box = range_text(piece.box);
  return piece.parts == 1 ? box : fmt::format("part {} of {} of {}", piece.part + 1, piece.parts, box);
}

}  // namespace shardscope
