#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session/expert_load_file.h"
#include "engine/session/mapped_file.h"
#include "engine/session/step_record.h"

namespace shardscope {

enum class RankState : uint8_t { starting, running, finished, failed };
std::string_view name(RankState state);
std::optional<RankState> rank_state(std::string_view name);

struct RankStatus {
  int rank = 0;
  int world_size = 0;
  int pid = 0;
  RankState state = RankState::starting;
  uint64_t heartbeat = 0;      // grows with every plan step begun, and where a rank gets on with anything else
  int64_t heartbeat_ns = 0;    // CLOCK_MONOTONIC
  int64_t training_step = -1;  // the one it is in; -1 before the first
  int plan_step = -1;          // the last one begun; -1 before the first
  uint64_t plan_hash = 0;
  int64_t held_ns = 0;     // since when it waits for its steps to be read (CLOCK_MONOTONIC); 0: it does not
  int64_t failed_ns = 0;   // CLOCK_MONOTONIC, of the call of fail()
  std::string error_text;  // of a failed rank
  bool operator==(const RankStatus&) const = default;
};

// CLOCK_MONOTONIC in nanoseconds, as all times here: comparable between the processes of one host.
int64_t monotonic_ns() noexcept;

std::string telemetry_path(const std::string& session_directory, int rank);

// Written by one thread of a rank: stores to a shared mapping, no lock, no allocation and, but for the clock, no system
// call. About 50 ns a call. Every step's record reaches the reader: a rank that is step_capacity steps ahead of it
// waits in add_step, with a beating heart and reported in RankStatus::held_ns, for as long as the reader (the process
// that started the rank, with which it dies) is stopped.
class TelemetryWriter {
 public:
  static constexpr int64_t step_capacity = 4096;

  static int64_t file_bytes();  // of that file

  // Creates DIR/rank_N.telemetry with state starting; a reader finds either no file or a complete one.
  TelemetryWriter(const std::string& session_directory, int rank, int world_size);

  // Once, before the first training step. Makes room for traces of so many plan steps, DIR/rank_N.trace, and for the
  // load of experts where it has any numbers, DIR/rank_N.experts.
  void set_plan(uint64_t hash, int plan_steps, size_t load_numbers = 0);
  void set_state(RankState state) noexcept;  // running, finished; without effect after fail()
  // State failed, with the first 4000 bytes of the text. Only the first call counts. From any thread.
  void fail(std::string_view text) noexcept;

  void begin_training_step(int64_t step) noexcept;
  // A sign of life, where no plan step begins.
  void beat(int64_t now_ns = monotonic_ns()) noexcept;
  // Current op and heartbeat, which was at `now_ns`.
  void begin_plan_step(int plan_step, int64_t now_ns = monotonic_ns()) noexcept;
  void end_plan_step(int plan_step, const PlanStepTime& time) noexcept;
  void add_step(const StepRecord& record) noexcept;
  // What experts got in the step; as many numbers as set_plan() made room for, else without effect.
  void put_expert_load(int64_t step, std::span<const float> numbers) noexcept;
  // The trace of the training step just done becomes the rank's of this choice.
  void keep_trace(TraceChoice choice) noexcept;

 private:
  void make_room() noexcept;

  MappedFile file_;
  std::string trace_path_, load_path_;
  std::optional<MappedFile> traces_;
  std::optional<ExpertLoadWriter> load_;
  int slot_ = 0;  // of the trace that is being written
};

// The view of another process, one for each rank. Safe at any moment of the writer's work and after its death.
class TelemetryReader {
 public:
  // Nothing when the rank has not made its file yet (or no descriptor is free). Throws Failure (session_file) when the
  // file is not telemetry.
  static std::optional<TelemetryReader> open(const std::string& session_directory, int rank);

  RankStatus status() const;
  // The records added since the last call, oldest first, at most so many.
  std::vector<StepRecord> take_steps(size_t most = TelemetryWriter::step_capacity);
  // The rank's trace of this choice, where it is another than at the last call and not just being replaced.
  std::optional<RankTrace> take_trace(TraceChoice choice);
  // What experts got in the newest step, where the rank leaves it and it is newer than at the last call.
  std::optional<RankExpertLoad> take_expert_load() { return load_.take(); }

 private:
  TelemetryReader(MappedFile file, std::string trace_path, std::string load_path)
      : file_(std::move(file)), trace_path_(std::move(trace_path)), load_(std::move(load_path)) {}

  MappedFile file_;
  std::string trace_path_;
  std::optional<MappedFile> traces_;
  std::array<uint64_t, std::size(trace_choices)> published_{};  // what was taken last, by choice
  ExpertLoadReader load_;
};

}  // namespace shardscope
