#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/runtime/trace.h"
#include "engine/session/step_times.h"
#include "engine/session/telemetry.h"

namespace shardscope {

// Measures the training steps that a rank does: by phase how long it was busy, was at work on a processor, and waited
// for peers. Tells each plan step to the rank's telemetry. All waiting of a collective is put before its start, so that
// end - start is the time that the rank itself was busy. To be made and used on the rank's main thread.
class StepMeter : public ExecutionObserver {
 public:
  // `telemetry` may be null.
  StepMeter(const Plan& plan, int stage, TelemetryWriter* telemetry);

  void start();  // of a training step's plan steps
  // Around what is done between two plan steps and belongs to none: making the inputs of a microbatch.
  void pause();
  void resume();
  void begin(int position) override;
  void end(int position, int64_t waited_ns, int64_t bytes) override;
  // Writes busy_ms, cpu_ms and wait_ms since start().
  void read(RankMeasurement& measured);

 private:
  void enter(size_t phase);

  std::vector<uint8_t> phases_;  // by position
  TelemetryWriter* telemetry_;
  PlanStepTime time_;
  size_t phase_ = 0;
  int64_t cpu_mark_ns_ = 0;
  std::array<int64_t, step_phases> busy_ns_{}, cpu_ns_{}, wait_ns_{};  // by Phase
};

// Which traces a rank keeps. A function of the steps' times as all ranks know them, so all choose alike: the first
// step, the last and those between at a bounded rate are the latest; the slowest is that of all steps but the first, or
// the first while it is alone; likewise the median one, which is kept until it is more than `near_median` off the
// median and another step is nearer.
class TraceChooser {
 public:
  // `events`: plan steps of all ranks together, which set the rate.
  explicit TraceChooser(int64_t events);

  struct Kept {
    bool latest = false, slowest = false, median = false;
  };
  Kept choose(double step_ms, bool is_last);

 private:
  double interval_ms_;
  int64_t steps_ = 0;
  double elapsed_ms_ = 0;  // since the last trace that was kept as latest
  double slowest_ms_ = 0, median_ms_ = 0;
  StepTimes step_times_;
};

}  // namespace shardscope
