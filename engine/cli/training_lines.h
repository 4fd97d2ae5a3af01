#pragma once

#include <string>

#include "engine/base/progress_lines.h"
#include "engine/plan/plan.h"
#include "engine/session/messages.h"

namespace shardscope {

// What a training prints first, as the original program does: the layouts that the model names, each under its caption
// ("Parameter sharding: Embed_0, embedding"), then for each parameter that the run file names, in model order,
// "Sharded param ('params', 'Embed_0', 'embedding') with PartitionSpec('data', 'model')".
std::string opening_lines(const Plan& plan);

// Each metric under its label (viz/text/metric_text.h): "Step 0: Loss = 7.5672, Accuracy = 0.12%"; those of an
// evaluation where there was one, and dropped tokens where some were.
std::string metrics_line(const StepMessage& step, const std::string& unit = "Step");

// What the model's original prints of each step and at the end (engine/base/progress_lines.h); nothing for steps
// between. Originals evaluate nothing: an evaluation has a line of its own there, "Step 20: Val loss = 2.1234".
class ProgressText {
 public:
  ProgressText(ProgressLines lines, int64_t steps) : lines_(std::move(lines)), steps_(steps) {}
  std::string after(const StepMessage& step);

 private:
  ProgressLines lines_;
  int64_t steps_;
  int64_t seen_ = 0;
  double milliseconds_ = 0;  // of all that were seen but the first
};

}  // namespace shardscope
