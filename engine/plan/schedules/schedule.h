#pragma once

#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/program/pipeline_order.h"

namespace shardscope {

// A pipeline schedule. One file each, with its time line in ASCII, and a line in schedule.cpp.
struct PipelineSchedule {
  std::string name;  // in a run file
  // Faults of a shape, at schedule.microbatches or pipeline.chunks.
  std::vector<Error> (*check)(const PipelineShape& shape);
  PipelineOrder (*order)(const PipelineShape& shape);  // of a legal shape
  bool splits_backward = false;
};

const std::vector<PipelineSchedule>& all_schedules();
const PipelineSchedule* find_schedule(const std::string& name);  // null where there is none

// The most microbatches of activations that each device holds at once: begun forward, and not yet through backward (of
// weights, where it is split). Counted in chunks, of which each holds its own.
std::vector<int> microbatches_in_flight(const PipelineOrder& order);

}  // namespace shardscope
