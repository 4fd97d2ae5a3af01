#include "engine/plan/schedules/schedules.h"

namespace shardscope {

namespace {

// Huang et al., "GPipe", 2019: all microbatches forward, then all backward, the last first. 3 stages, 4 microbatches;
// F0 is forward of microbatch 0, B0 its backward, twice as long:
//
//   stage 0  F0 F1 F2 F3 .. .. .. .. .. .. B3 B3 B2 B2 B1 B1 B0 B0
//   stage 1  .. F0 F1 F2 F3 .. .. .. B3 B3 B2 B2 B1 B1 B0 B0 .. ..
//   stage 2  .. .. F0 F1 F2 F3 B3 B3 B2 B2 B1 B1 B0 B0 .. .. .. ..
//
// Each stage holds the activations of all microbatches. Bubble: (stages - 1) of (microbatches + stages - 1).
PipelineOrder gpipe_order(const PipelineShape& shape) {
  std::vector<WorkItem> stage;
  for (int m = 0; m < shape.microbatches; ++m) stage.push_back({Work::forward, m});
  for (int m = shape.microbatches; m-- > 0;) stage.push_back({Work::backward, m});
  return PipelineOrder(static_cast<size_t>(shape.stages), stage);
}

}  // namespace

std::vector<Error> check_one_chunk(const PipelineShape& shape) {
  if (shape.chunks == 1) return {};
  return {{"chunks", "this schedule gives each device one chunk of layers, not " + std::to_string(shape.chunks),
           "pipeline.chunks", "1, or the schedule \"interleaved\""}};
}

PipelineSchedule gpipe() { return {"gpipe", check_one_chunk, gpipe_order}; }

}  // namespace shardscope
