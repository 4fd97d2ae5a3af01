#pragma once

#include <functional>
#include <vector>

#include "engine/plan/schedules/schedule.h"

namespace shardscope {

// When each device does each item of its list, in seconds from the beginning of the step.
struct PipelineTimeline {
  struct Span {
    double start = 0, end = 0;
  };
  std::vector<std::vector<Span>> devices;  // as the order
  double seconds = 0;                      // until all are done
  double bubble = 0;                       // share of that time in which a device waits, mean over devices
};

// How long an item takes on a device, and how long what it gives takes to the device that waits for it.
struct PipelineCosts {
  std::function<double(int device, const WorkItem& item)> work;
  std::function<double(int device, const WorkItem& item)> transfer;
};

// Plays the order: an item begins when its device has done those before it and what it needs has arrived. Throws
// Failure (pipeline_cycle), naming the items that wait for each other in a ring, where it cannot be played to its end.
PipelineTimeline play(const PipelineOrder& order, const PipelineCosts& costs);

// Throws like play() where devices wait for each other in a ring: no step would end.
void prove_no_cycle(const PipelineOrder& order);

}  // namespace shardscope
