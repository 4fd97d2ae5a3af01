#include "engine/worker/telemetry_trace.h"

namespace shardscope {

void TelemetryTrace::begin(int position) {
  writer_.begin_plan_step(position);
  event_.plan_step = position;
  event_.arrive_ns = monotonic_ns();
}

void TelemetryTrace::end(int, int64_t waited_ns, int64_t bytes) {
  event_.end_ns = monotonic_ns();
  event_.start_ns = event_.arrive_ns + waited_ns;
  event_.bytes = bytes;
  writer_.add_event(event_);
}

}  // namespace shardscope
