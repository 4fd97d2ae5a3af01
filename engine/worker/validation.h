#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"
#include "engine/session/telemetry.h"
#include "engine/worker/input_filler.h"

namespace shardscope {

// Runs a plan's forward pass on the batches that its data keep back. Nothing that a training step uses is changed but
// the inputs.
class Validation {
 public:
  // `telemetry` may be null; its heart beats meanwhile.
  Validation(const Plan& plan, int device, Executor& executor, TelemetryWriter* telemetry);
  ~Validation();

  // After this training step, from 0.
  bool is_due(int64_t step) const { return evaluation_.every > 0 && (step + 1) % evaluation_.every == 0; }
  // The metrics of source evaluation in the plan's order, each the mean over the batches. All ranks call it together.
  std::vector<double> run(int64_t step);

 private:
  class Heartbeat;

  Evaluation evaluation_;
  Executor& executor_;
  std::vector<int> values_;  // program values of the metrics
  std::unique_ptr<InputFiller> inputs_;
  std::unique_ptr<Heartbeat> heartbeat_;
};

}  // namespace shardscope
