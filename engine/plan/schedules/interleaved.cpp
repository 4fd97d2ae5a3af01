#include <algorithm>

#include "engine/plan/schedules/schedules.h"

namespace shardscope {

namespace {

// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", 2021: each device holds several
// chunks of layers, and works on as many microbatches as there are stages before it goes on to its next chunk. 2
// stages of 2 chunks, 2 microbatches; a and b are chunks:
//
//   device 0  F0a F1a F0b F1b ... ... B0b B0b ... B1b B1b B0a B0a B1a B1a
//   device 1  ... F0a F1a F0b B0b B0b F1b B1b B1b B0a B0a B1a B1a ... ...
//
// Bubble: (stages - 1) of (microbatches x chunks + stages - 1), in which a chunk counts as a stage did before.
PipelineOrder interleaved_order(const PipelineShape& shape) {
  const int total = shape.microbatches * shape.chunks, group = shape.stages * shape.chunks;
  const auto microbatch = [&](int i) { return i / group * shape.stages + i % shape.stages; };
  const auto chunk = [&](int i) { return i % group / shape.stages; };
  PipelineOrder all;
  for (int s = 0; s < shape.stages; ++s) {
    std::vector<WorkItem>& device = all.emplace_back();
    const auto forward = [&](int i) { device.push_back({Work::forward, microbatch(i), chunk(i)}); };
    const auto backward = [&](int i) {
      device.push_back({Work::backward, microbatch(i), shape.chunks - 1 - chunk(i)});
    };
    const int warm_up = std::min(total, 2 * (shape.stages - s - 1) + (shape.chunks - 1) * shape.stages);
    for (int i = 0; i < warm_up; ++i) forward(i);
    for (int i = warm_up; i < total; ++i) forward(i), backward(i - warm_up);
    for (int i = total - warm_up; i < total; ++i) backward(i);
  }
  return all;
}

std::vector<Error> check(const PipelineShape& shape) {
  if (shape.microbatches % shape.stages == 0) return {};
  return {{"microbatches",
           std::to_string(shape.microbatches) + " microbatches are not a multiple of " + std::to_string(shape.stages) +
               " stages",
           "schedule.microbatches",
           "for example " + std::to_string((shape.microbatches / shape.stages + 1) * shape.stages)}};
}

}  // namespace

PipelineSchedule interleaved() { return {"interleaved", check, interleaved_order}; }

}  // namespace shardscope
