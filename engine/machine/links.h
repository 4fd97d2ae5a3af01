#pragma once

#include <span>
#include <utility>
#include <vector>

#include "engine/machine/topology.h"

namespace shardscope {

// Bytes per second of one link of each level, as one rank of this run has it.
std::vector<double> link_rates(const Machine& machine, const Topology& topology);

// The number of the link by which each device reaches other units of the level below `number` (see Level::shared_by).
// Example: hosts of 4 on a network with shared_by 2: 0, 0, 1, 1, 2, 2, 3, 3.
std::vector<int> link_numbers(const Level& level, int number, const Topology& topology);

// latency + bytes x seconds_per_byte.
struct TransferRate {
  double latency = 0, seconds_per_byte = 0;
  double seconds(double bytes) const { return latency + bytes * seconds_per_byte; }
};

// Sends from one device to another, all at the same time: the slowest. Each goes over the link of the outermost level
// in which its two devices differ; sends that leave, or arrive, over one link share its rate.
TransferRate transfer_rate(const std::vector<Level>& levels, const Topology& topology,
                           std::span<const double> link_rates, std::span<const std::pair<int, int>> transfers);

}  // namespace shardscope
