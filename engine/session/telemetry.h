#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/metrics.h"
#include "engine/session/mapped_file.h"

namespace shardscope {

enum class RankState : uint8_t { starting, running, finished, failed };
std::string_view name(RankState state);
std::optional<RankState> rank_state(std::string_view name);

// What a rank used, measured.
struct RankUse {
  int64_t arena_bytes = 0;      // highest byte of the arena overwritten so far, in whole lines of 64
  int64_t heap_bytes = 0;       // of the process outside the arena, taken since training began
  double wire_bytes = 0;        // sent in this step, the Communicator's own count
  int64_t parameter_bytes = 0;  // stored: written when the parameters were made
  int64_t optimizer_bytes = 0;
  bool operator==(const RankUse&) const = default;
};

// One training step as one rank saw it, written at its end.
struct StepRecord {
  int64_t step = 0;    // from 0
  double step_ms = 0;  // of the plan's steps; making the inputs is not part of it
  RankUse use;
  MetricNumbers metrics{};  // in the order of the plan's
  bool operator==(const StepRecord&) const = default;
};

// One plan step done by one rank. Times are nanoseconds of CLOCK_MONOTONIC: when the rank came to it, when work (or,
// for a collective, the exchange, all peers having arrived) began, and when it was done. wait = start - arrive.
struct StepEvent {
  int64_t plan_step = 0;  // its position in the main sequence
  int64_t training_step = 0;
  int64_t arrive_ns = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t bytes = 0;  // payload of a collective
  bool operator==(const StepEvent&) const = default;
};

struct RankStatus {
  int rank = 0;
  int world_size = 0;
  int pid = 0;
  RankState state = RankState::starting;
  uint64_t heartbeat = 0;      // grows with every plan step begun
  int64_t heartbeat_ns = 0;    // CLOCK_MONOTONIC
  int64_t training_step = -1;  // the one it is in; -1 before the first
  int plan_step = -1;          // the last one begun; -1 before the first
  uint64_t plan_hash = 0;
  int64_t failed_ns = 0;   // CLOCK_MONOTONIC, of the call of fail()
  std::string error_text;  // of a failed rank
};

// CLOCK_MONOTONIC in nanoseconds, as all times here: comparable between the processes of one host.
int64_t monotonic_ns() noexcept;

std::string telemetry_path(const std::string& session_directory, int rank);

// Written by one thread of a rank: stores to a shared mapping, no system call, no lock, no allocation. About 50 ns a
// call (begin_plan_step and add_event read no clock but for the heartbeat's).
class TelemetryWriter {
 public:
  // Creates DIR/rank_N.telemetry with state starting; a reader finds either no file or a complete one.
  TelemetryWriter(const std::string& session_directory, int rank, int world_size);

  void set_plan_hash(uint64_t hash) noexcept;
  void set_state(RankState state) noexcept;  // running, finished; without effect after fail()
  // State failed, with the first 4000 bytes of the text. Only the first call counts. From any thread.
  void fail(std::string_view text) noexcept;

  void begin_training_step(int64_t step) noexcept;
  void begin_plan_step(int plan_step) noexcept;  // current op and heartbeat
  void add_event(const StepEvent& event) noexcept;
  void add_step(const StepRecord& record) noexcept;  // after the events of its step

 private:
  MappedFile file_;
};

// The view of another process. Safe at any moment of the writer's work and after its death.
class TelemetryReader {
 public:
  // Nothing when the rank has not made its file yet. Throws Failure (session_file) when the file is not telemetry.
  static std::optional<TelemetryReader> open(const std::string& session_directory, int rank);

  RankStatus status() const;
  // Records added since the last call, oldest first. The file keeps the last 1024 steps and 16384 events; a reader
  // that comes later than that misses the oldest, which lost() counts. Take steps before events: the events of
  // every step returned are then there.
  std::vector<StepRecord> take_steps();
  std::vector<StepEvent> take_events();
  int64_t lost() const { return lost_; }

 private:
  explicit TelemetryReader(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  uint64_t steps_taken_ = 0;
  uint64_t events_taken_ = 0;
  int64_t lost_ = 0;
};

}  // namespace shardscope
