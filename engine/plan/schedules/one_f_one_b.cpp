#include <algorithm>

#include "engine/plan/schedules/schedules.h"

namespace shardscope {

namespace {

// Narayanan et al., "PipeDream", 2019 (its flushing form): after a warm-up of as many forwards as there are stages
// behind, one forward and one backward by turns. 3 stages, 4 microbatches:
//
//   stage 0  F0 F1 F2 .. .. .. B0 B0 F3 B1 B1 .. B2 B2 .. B3 B3
//   stage 1  .. F0 F1 .. B0 B0 F2 B1 B1 F3 B2 B2 .. B3 B3 .. ..
//   stage 2  .. .. F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3 .. .. ..
//
// Stage s never holds more than (stages - s) microbatches of activations. Bubble as of GPipe.
PipelineOrder one_f_one_b_order(const PipelineShape& shape) {
  PipelineOrder all;
  for (int s = 0; s < shape.stages; ++s) {
    std::vector<WorkItem>& stage = all.emplace_back();
    const int warm_up = std::min(shape.stages - s - 1, shape.microbatches);
    for (int m = 0; m < warm_up; ++m) stage.push_back({Work::forward, m});
    for (int m = warm_up; m < shape.microbatches; ++m) {
      stage.push_back({Work::forward, m});
      stage.push_back({Work::backward, m - warm_up});
    }
    for (int m = shape.microbatches - warm_up; m < shape.microbatches; ++m) stage.push_back({Work::backward, m});
  }
  return all;
}

}  // namespace

PipelineSchedule one_f_one_b() { return {"1f1b", check_one_chunk, one_f_one_b_order}; }

}  // namespace shardscope
