#pragma once

#include <QPainter>
#include <optional>
#include <vector>

#include "viz/paint/mesh_painter.h"
#include "viz/paint/replay.h"

namespace shardscope {

// A moment of a replay over the mesh: each device as a small picture of the whole array in which the part that it holds
// is filled, in the colours of its place in the group; and the pieces on their way, in the colours of who sent them,
// each with an arrow to where it goes. What comes to a sum is paler the more is missing. Where devices are too small,
// tiles and dots.
struct ReplayPicture {
  MeshPlace at;
  const MeshPicture& mesh;
  const Replay& replay;
  ReplayMoment moment;
  const std::vector<TimedPiece>& pieces;  // of the moment's leg (pieces_of)
  std::optional<int> only;                // draws no pieces on their way but those from and to this device
};

// Devices that take no part are pale.
void paint_devices(QPainter& painter, const ReplayPicture& picture, const Theme& theme);
void paint_pieces(QPainter& painter, const ReplayPicture& picture, const Theme& theme);
// Whether paint_devices() draws the same in all of a leg: they are tiles.
bool devices_stay(const MeshPlace& at);

}  // namespace shardscope
