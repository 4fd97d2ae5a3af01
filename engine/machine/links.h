#pragma once

#include <span>
#include <utility>
#include <vector>

#include "engine/machine/topology.h"

namespace shardscope {

// The links of one level.
struct LevelLinks {
  double bytes_per_second = 0;  // of one link, as one rank of this run has it
  std::vector<int> of_device;   // link_numbers()
  int units = 1;                // of the level below, in one of this level, on average
};
std::vector<LevelLinks> links_of(const Machine& machine, const Topology& topology);

// The number of the link by which each device reaches other units of the level below `number` (see Level::shared_by).
// Example: hosts of 4 on a network with shared_by 2: 0, 0, 1, 1, 2, 2, 3, 3.
std::vector<int> link_numbers(const Level& level, int number, const Topology& topology);

// latency + bytes x seconds_per_byte.
struct TransferRate {
  double latency = 0, seconds_per_byte = 0;
  double seconds(double bytes) const { return latency + bytes * seconds_per_byte; }
};

// Sends from one device to another, all at the same time: the slowest. Each goes over the link of the outermost level
// in which its two devices differ, at its message_efficiency; sends that leave, or arrive, over one link share its
// rate.
TransferRate transfer_rate(const std::vector<Level>& levels, const Topology& topology,
                           std::span<const LevelLinks> links, std::span<const std::pair<int, int>> transfers);

}  // namespace shardscope
