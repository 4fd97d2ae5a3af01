#pragma once

#include "engine/runtime/trace.h"
#include "engine/session/telemetry.h"

namespace shardscope {

// Writes each plan step that a rank does to its telemetry. All waiting of a collective is put before its start, so that
// end - start is the time that the rank itself was busy.
class TelemetryTrace : public ExecutionObserver {
 public:
  explicit TelemetryTrace(TelemetryWriter& writer) : writer_(writer) {}

  void begin_training_step(int64_t step) { event_.training_step = step; }
  void begin(int position) override;
  void end(int position, int64_t waited_ns, int64_t bytes) override;

 private:
  TelemetryWriter& writer_;
  StepEvent event_;
};

}  // namespace shardscope
