#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/machine/links.h"
#include "engine/machine/topology.h"
#include "engine/mesh/mesh.h"

namespace shardscope {

// What groups of devices that run the same collective at the same time ask of one level in which members differ.
// Seconds per byte hold for the busiest link; all groups' traffic over a link shares its rate.
struct LevelTraffic {
  int level = 0;
  double latency = 0;     // of one message, s
  int64_t messages = 0;   // one after the other, until each of `units` has what all of them had
  int64_t in_ring = 0;    // messages over this level of one that goes through all members
  int64_t units = 1;      // units of the level below that have members of one group, within one unit of this level
  double ring = 0;        // s for each byte that a ring through all members passes on. A ring visits the members unit
                          // by unit; where members of a unit have several links, several rings share the bytes
  double shared = 0;      // s for each byte of an array that the members of a unit of the level below send once to a
                          // neighbouring unit, each an equal part, all links in use
  double all_to_all = 0;  // s for each byte that every member sends evenly to all members of its group
  double exchange = 0;    // likewise to those in its unit of this level
  double one_way = 0;     // s for each byte that every member sends over one link
};

// Where the groups lie: all that their price depends on.
struct GroupPlacement {
  int64_t size = 1;                  // of the largest group
  std::vector<LevelTraffic> levels;  // those in which members differ, from inside out

  // -1 for single devices.
  int level() const { return levels.empty() ? -1 : levels.back().level; }
};

// Groups that share no device.
//
// A torus or ring: along a dimension of size D that m members of a group lie on, s apart, s groups interleave. Where
// m s >= D >= 3 and the dimension wraps, a ring goes both ways round (2 / s links' rate), else to the end and back
// (1 / s). Dimensions add up. An all-to-all of n bytes of each device is limited by the cut through the middle:
// D / 8 n bytes over each link where it wraps, D / 4 n where not (D: m s). Other levels: each device has its link.
//
// Messages: a ring through all members passes each unit's members before it leaves the unit, so that among all its
// members - 1 messages each level has as many as the units below that it visits, less the units of the level. Along a
// dimension of a torus or ring m members have floor(m / 2) messages where it is closed, which go both ways, else m - 1;
// dimensions, and units of the levels outside, send at the same time. Example: 2 hosts of 4 devices: 6 messages within
// hosts and 1 across, in_ring, and 3 and 1 `messages`; a torus of 16 x 16 that wraps: 16.
GroupPlacement place_groups(const std::vector<Level>& levels, const Topology& topology,
                            std::span<const LevelLinks> links, std::vector<std::vector<int>> groups);

// The groups of a mesh over these axes.
std::vector<std::vector<int>> groups_over(const Mesh& mesh, const std::vector<AxisIndex>& axes);

}  // namespace shardscope
