#include "engine/mesh/piece_moves.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/mesh/box_runs.h"
#include "engine/mesh/permute.h"
#include "engine/mesh/reshard.h"

namespace shardscope {

PieceMoves::PieceMoves(ArrayMove move, const Mesh& mesh) : move_(std::move(move)), mesh_(&mesh) {}

std::vector<int> PieceMoves::group(int device) const {
  if (move_.kind == InstructionKind::slice) return {device};
  const std::vector<int> all = mesh_->group(device, axes());
  if (!is_transfer(move_.kind)) return all;
  return {all[static_cast<size_t>(move_.from_stage)], all[static_cast<size_t>(move_.to_stage)]};
}

int PieceMoves::group_size() const {
  if (move_.kind == InstructionKind::slice) return 1;
  if (is_transfer(move_.kind)) return 2;
  return static_cast<int>(shardscope::group_size(move_.axes, *mesh_));
}

int PieceMoves::place(int device) const { return static_cast<int>(mesh_->group_index(device, axes())); }

bool PieceMoves::holds_before(int device) const {
  return !is_transfer(move_.kind) || mesh_->group_index(device, axes()) == move_.from_stage;
}

bool PieceMoves::holds_after(int device) const {
  return !is_transfer(move_.kind) || mesh_->group_index(device, axes()) == move_.to_stage;
}

// The piece that goes from one place of the group to another, where there is one.
void PieceMoves::add(std::vector<MovedPiece>& pieces, const std::vector<int>& group, size_t from, size_t to,
                     int round) const {
  MovedPiece piece{group[from], group[to], before(group[from]), 0, 1, false};
  switch (move_.kind) {
    case InstructionKind::send:
    case InstructionKind::receive:
      if (from == 0 && to == 1) pieces.push_back(piece);
      return;
    case InstructionKind::all_reduce:
      if (round == 1 && from == to) return;
      piece.parts = static_cast<int>(group.size());
      piece.part = static_cast<int>(round == 0 ? to : from);
      piece.reduced = round == 0;
      if (piece.elements() > 0) pieces.push_back(piece);
      return;
    default: break;
  }
  const std::optional<Box> common = intersection(before(group[from]), after(group[to]));
  if (!common) return;
  piece.box = *common;
  piece.reduced = move_.kind == InstructionKind::reduce_scatter;
  pieces.push_back(piece);
}

std::vector<MovedPiece> PieceMoves::pieces(int device, int round, bool comes) const {
  const std::vector<int> devices = group(device);
  const auto place = static_cast<size_t>(std::ranges::find(devices, device) - devices.begin());
  std::vector<MovedPiece> pieces;
  if (place == devices.size()) return pieces;
  const auto add_of = [&](size_t other) { add(pieces, devices, comes ? other : place, comes ? place : other, round); };
  if (move_.kind == InstructionKind::collective_permute) {
    const std::vector<int> goes = permute_destinations(*mesh_, move_.shape, move_.before, move_.after, devices);
    const auto from = std::ranges::find(goes, static_cast<int>(place)) - goes.begin();
    add_of(static_cast<size_t>(comes ? from : goes[place]));
  } else {
    for (size_t other = 0; other < devices.size(); ++other) add_of(other);
  }
  return pieces;
}

}  // namespace shardscope
