#pragma once

#include <optional>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// What devices exchange along mesh axes in a training step: collectives of groups over the same axes, or what stages
// send each other along the axis of the pipeline. Bytes and seconds are those of one device, of the stage with most.
struct AxisTraffic {
  AxisList axes;
  int level = -1;         // the machine's outermost in which members of a group differ
  int exchanges = 0;      // collectives, or messages sent
  double wire_bytes = 0;  // by the ring convention
  double seconds = 0;     // of the transfers, each alone
};

// By seconds, descending.
std::vector<AxisTraffic> axis_traffic(const Plan& plan);

// The traffic that would be faster on other links: of all that goes over a level with less than half the rate of one
// that other axes have to themselves, that with the most bytes, if it moves more than they do.
struct SlowTraffic {
  int slow = 0, fast = 0;  // of the list
};
std::optional<SlowTraffic> slow_traffic(const std::vector<AxisTraffic>& traffic, const Machine& machine);

}  // namespace shardscope
