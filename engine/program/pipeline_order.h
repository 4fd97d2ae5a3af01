#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

namespace shardscope {

// What a device does with a microbatch. Schedules that split backward do the gradients that the stage before waits for
// (input) apart from those of the stage's own parameters (weight).
enum class Work : uint8_t { forward, backward, backward_input, backward_weight };
std::string_view name(Work work);

// A device of `stages` in a row holds `chunks` chunks of layers; chunk c of device s is chunk c x stages + s of
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
// chunk for the one before, backward for the one behind, both of the same microbatch.
using PipelineOrder = std::vector<std::vector<WorkItem>>;

// Which stage of a pipeline does what of a graph.
struct StagedOps {
  static constexpr int unassigned = -1;

  PipelineShape shape;
  std::vector<int>
      virtual_stage;  // per op: chunk * stages + stage; `unassigned`: made where it is used, on each stage anew
  std::vector<int> state_stage;       // per state: the one that stores and updates it
  std::vector<bool> weight_gradient;  // per op: part of backward of weights; empty where backward is not split
  PipelineOrder order;

  bool empty() const { return shape.stages == 1; }
  int stage(int op) const { return virtual_stage[static_cast<size_t>(op)] % shape.stages; }
  int chunk(int op) const { return virtual_stage[static_cast<size_t>(op)] / shape.stages; }
};

}  // namespace shardscope
