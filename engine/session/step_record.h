#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/plan/metrics.h"

namespace shardscope {

// Milliseconds by Phase: forward, backward, update, and recompute: forward results that backward makes again, 0 where
// the schedule rematerialises nothing.
using PhaseMs = std::array<double, step_phases>;

// What one rank held and did in one training step, as it measured it itself. The one record of it: the ranks tell it to
// each other, telemetry, messages, JSON lines and views carry it as it is.
struct RankMeasurement {
  int64_t rank = 0;
  int64_t arena_bytes = 0;      // highest byte of the arena overwritten so far, in whole lines of 64
  int64_t heap_bytes = 0;       // of the heap, taken since training began
  int64_t outside_bytes = 0;    // memory of the process besides what it shares with others (arenas, libraries), as the
                                // kernel counts it; looked at rarely; 0: not known
  double wire_bytes = 0;        // sent in this step by the ring convention, from the arguments of the calls
  int64_t moved_bytes = 0;      // really moved in it, counted at the transport; -1: not known (an older record)
  int64_t parameter_bytes = 0;  // stored: overwritten in the arena when the parameters were made
  int64_t optimizer_bytes = 0;
  // Not waiting for peers; at work, or kept from it. In collectives between hosts also waiting for their messages: MPI
  // does not say when one came.
  PhaseMs busy_ms{};
  PhaseMs cpu_ms{};   // of busy: the rank's main thread ran; the rest of it the thread was preempted or asleep
  PhaseMs wait_ms{};  // for peers; in a pipeline between hosts with the transfer of what is received
  bool operator==(const RankMeasurement&) const = default;
};

// Calls f(name, member) for each, in the order of a line for scripts.
template <class Measurement, class F>
void for_each_field(Measurement& measured, F&& f) {
  f("rank", measured.rank);
  f("arena_bytes", measured.arena_bytes);
  f("heap_bytes", measured.heap_bytes);
  f("outside_bytes", measured.outside_bytes);
  f("wire_bytes_sent", measured.wire_bytes);
  f("moved_bytes", measured.moved_bytes);
  f("parameter_bytes", measured.parameter_bytes);
  f("optimizer_bytes", measured.optimizer_bytes);
  f("busy_ms", measured.busy_ms);
  f("cpu_ms", measured.cpu_ms);
  f("wait_ms", measured.wait_ms);
}

// One training step as one rank saw it, written at its end.
struct StepRecord {
  int64_t step = 0;    // from 0
  double step_ms = 0;  // of the plan's steps; making the inputs is not part of it
  RankMeasurement measured;
  MetricNumbers metrics{};  // in the order of the plan's
  bool operator==(const StepRecord&) const = default;
};

// When one rank did one plan step, in nanoseconds of its host's CLOCK_MONOTONIC: it came to it, work (or, for a
// collective, the exchange) began, and it was done. All waiting is put before the start: wait = start - arrive.
struct PlanStepTime {
  int64_t arrive_ns = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool operator==(const PlanStepTime&) const = default;
};

// The plan steps of one training step on one rank, by position in the main sequence.
struct RankTrace {
  int64_t step = 0;
  std::vector<PlanStepTime> times;
  bool operator==(const RankTrace&) const = default;
};

// Which training step's trace: a recent one, the one that took longest (of the slowest rank; the first step, which
// warms up, only while there is no other), one near the median.
enum class TraceChoice : uint8_t { latest, slowest, median };
inline constexpr TraceChoice trace_choices[] = {TraceChoice::latest, TraceChoice::slowest, TraceChoice::median};
std::string_view name(TraceChoice choice);
std::optional<TraceChoice> trace_choice(std::string_view name);

}  // namespace shardscope
