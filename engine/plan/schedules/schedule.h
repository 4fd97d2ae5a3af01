#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// What a device does with a microbatch. Schedules that split backward do the gradients that the stage before waits for
// (input) apart from those of the stage's own parameters (weight).
enum class Work : uint8_t { forward, backward, backward_input, backward_weight };
std::string_view name(Work work);

// A device of `stages` in a row holds `chunks` stretches of layers; chunk c of device s is stretch c x stages + s of
// the network, so that with one chunk stage and device are the same.
struct PipelineShape {
  int stages = 1;
  int chunks = 1;
  int microbatches = 1;
};

struct WorkItem {
  Work work = Work::forward;
  int microbatch = 0;
  int chunk = 0;
  auto operator<=>(const WorkItem&) const = default;
};

// In which order each device does its work, one list a device. What it waits for follows from the work: forward of a
// stretch for the one before, backward for the one behind, both of the same microbatch.
using PipelineOrder = std::vector<std::vector<WorkItem>>;

// A pipeline schedule. One file each, with its time line in ASCII, and a line in schedule.cpp.
struct PipelineSchedule {
  std::string name;  // in a run file
  // Faults of a shape, at schedule.microbatches or schedule.chunks.
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
