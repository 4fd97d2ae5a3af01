#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/machine/machine.h"

namespace shardscope {

// How many devices one unit of the outermost of these levels has; nothing where the run says it. Example: 8, then 16
// nodes: 128; 8, then any: nothing; hosts of 4, 3 and 1, then any: 8; the same hosts, then 2: 7.
std::optional<int64_t> device_limit(const std::vector<Level>& levels);

// Where each of a run's devices is: its unit on every level. Units hold consecutive devices.
//
// Example: levels of counts 4 and any, 8 devices: unit(0, 5) = 1, unit(1, 5) = 0; level_of({0, 3}) = 0,
// level_of({3, 4}) = 1, level_of({6}) = -1.
class Topology {
 public:
  // Throws Failure (device_count) where the machine has fewer devices than that.
  Topology(const std::vector<Level>& levels, int devices);

  int device_count() const { return device_count_; }
  int level_count() const { return static_cast<int>(units_.size()); }
  // The number of the unit of a level that has this device; the units of level -1 are the devices.
  int unit(int level, int device) const { return level < 0 ? device : units_[level][device]; }
  // How many devices each unit of a level has.
  std::vector<int> unit_sizes(int level) const;
  // The outermost level in which these devices lie in different units of the level below; -1 for a single device.
  int level_of(std::span<const int> members) const;

 private:
  int device_count_;
  std::vector<std::vector<int>> units_;  // by level, by device
};

// How many devices each host has (see DeviceKind), in order.
std::vector<int> ranks_per_host(const Machine& machine, const Topology& topology);
// The most of them.
int ranks_on_host(const Machine& machine, const Topology& topology);
// Of a core, or device, that each of so many ranks of a host has: cores / ranks, which may be less than one; 1 on a
// device of its own.
double share_of_rank(const Device& device, int ranks_on_host);
// Threads of one rank: cores / ranks of a host, at least one; 1 on a device of its own.
int threads_per_rank(const Machine& machine, const Topology& topology);

}  // namespace shardscope
