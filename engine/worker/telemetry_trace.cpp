#include "engine/worker/telemetry_trace.h"

namespace shardscope {

void TelemetryTrace::arrive(int plan_step) {
  writer_.begin_plan_step(plan_step);
  event_.plan_step = plan_step;
  event_.arrive_ns = monotonic_ns();
}

void TelemetryTrace::begin(int) { event_.start_ns = monotonic_ns(); }

void TelemetryTrace::end(int, int64_t bytes) {
  event_.end_ns = monotonic_ns();
  event_.bytes = bytes;
  writer_.add_event(event_);
}

}  // namespace shardscope
