#include "engine/worker/step_meter.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace shardscope {

namespace {

constexpr double least_interval_ms = 500;
constexpr double events_a_millisecond = 100;  // of traces that are sent to clients
constexpr double near_median = 0.01;

// How many times two steps' times differ, as a logarithm.
double distance(double one_ms, double other_ms) {
  constexpr double least_ms = 1e-6;
  return std::abs(std::log(std::max(one_ms, least_ms) / std::max(other_ms, least_ms)));
}

int64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

StepMeter::StepMeter(const Plan& plan, int stage, TelemetryWriter* telemetry) : telemetry_(telemetry) {
  for (const Instruction& instruction : plan.instructions(stage))
    phases_.push_back(static_cast<uint8_t>(instruction.phase));
}

void StepMeter::start() {
  busy_ns_ = cpu_ns_ = wait_ns_ = {};
  phase_ = phases_.empty() ? 0 : phases_.front();
  cpu_mark_ns_ = thread_cpu_ns();
  time_.end_ns = monotonic_ns();
}

void StepMeter::pause() { enter(phase_); }

void StepMeter::resume() {
  cpu_mark_ns_ = thread_cpu_ns();
  time_.end_ns = monotonic_ns();
}

void StepMeter::enter(size_t phase) {
  const int64_t now = thread_cpu_ns();
  cpu_ns_[phase_] += now - cpu_mark_ns_;
  cpu_mark_ns_ = now;
  phase_ = phase;
}

void StepMeter::begin(int position) {
  if (phases_[position] != phase_) enter(phases_[position]);
  time_.arrive_ns = time_.end_ns;  // of the plan step before: nothing is done between them but in a pause
  if (telemetry_) telemetry_->begin_plan_step(position, time_.arrive_ns);
}

void StepMeter::end(int position, int64_t waited_ns, int64_t) {
  time_.end_ns = monotonic_ns();
  time_.start_ns = time_.arrive_ns + waited_ns;
  busy_ns_[phase_] += time_.end_ns - time_.start_ns;
  wait_ns_[phase_] += waited_ns;
  if (telemetry_) telemetry_->end_plan_step(position, time_);
}

void StepMeter::read(RankMeasurement& measured) {
  enter(phase_);
  for (size_t phase = 0; phase < step_phases; ++phase) {
    const double busy = static_cast<double>(busy_ns_[phase]);
    measured.busy_ms[phase] = busy * 1e-6;
    // Looks at the clocks lie between plan steps and are no work of theirs.
    measured.cpu_ms[phase] = std::min(busy, static_cast<double>(cpu_ns_[phase])) * 1e-6;
    measured.wait_ms[phase] = static_cast<double>(wait_ns_[phase]) * 1e-6;
  }
}

TraceChooser::TraceChooser(int64_t events)
    : interval_ms_(std::max(least_interval_ms, static_cast<double>(events) / events_a_millisecond)) {}

TraceChooser::Kept TraceChooser::choose(double step_ms, bool is_last) {
  Kept kept;
  const bool warms_up = steps_++ == 0;
  elapsed_ms_ += step_ms;
  kept.latest = warms_up || is_last || elapsed_ms_ >= interval_ms_;
  if (kept.latest) elapsed_ms_ = 0;
  kept.slowest = warms_up || steps_ == 2 || step_ms > slowest_ms_;
  if (kept.slowest) slowest_ms_ = warms_up ? 0 : step_ms;
  step_times_.add(step_ms);
  const double median = *step_times_.median(), off = distance(median_ms_, median);
  kept.median = steps_ <= 2 || (off > near_median && distance(step_ms, median) < off);
  if (kept.median) median_ms_ = step_ms;
  return kept;
}

}  // namespace shardscope
