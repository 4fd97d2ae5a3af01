#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/session/step_record.h"
#include "viz/paint/timeline_geometry.h"

namespace shardscope {

// What a stage does at a time: the runs of the tasks of its main sequence. A run that waits in its midst for another
// stage is several blocks, so what is between blocks is waiting.
struct PipelineRow {
  int stage = 0;
  int device = 0;                     // whose times these are; predicted ones are alike on all devices of the stage
  std::vector<TimelineSlice> blocks;  // `step`: the first position of the block, in the stage's main sequence
  double busy = 0;                    // seconds
};

// Rows by stage; seconds from the beginning of the training step.
struct PipelinePicture {
  std::vector<PipelineRow> rows;
  double seconds = 0;  // until all are done

  // The share of that time in which a stage waits for others, mean over stages.
  double bubble() const;
};

PipelinePicture predicted_pipeline(const Plan& plan);

// A training step as one device of each stage did it: `device`, and those that differ from it in nothing but the stage.
// `times` by rank and position in its own main sequence; nothing where they are of another plan.
std::optional<PipelinePicture> measured_pipeline(const Plan& plan, std::span<const std::vector<PlanStepTime>> times,
                                                 int device = 0);

// The device of another stage at the place of `device` on the mesh.
int device_at_stage(const Plan& plan, int device, int stage);

// What the run of a task is called on the time line: F3 is forward of microbatch 3, B3 its backward, W3 that of weights
// where it is a task of its own; a letter behind it is the chunk. Other tasks go by their part: "update".
struct TaskLabel {
  std::string text;  // "F3b"
  int chunk = 0;
  bool is_repeated = false;  // for each microbatch
  bool is_weights = false;
};
TaskLabel label_of(const Plan& plan, const TaskRun& run);

}  // namespace shardscope
