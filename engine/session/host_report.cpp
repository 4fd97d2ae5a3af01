#include "engine/session/host_report.h"

#include "engine/base/enum_count.h"
#include "engine/session/byte_stream.h"

namespace shardscope {

namespace {

// RankStatus without its text.
template <class Status, class F>
void for_each_number(Status& status, F&& f) {
  f(status.rank), f(status.world_size), f(status.pid), f(status.state), f(status.heartbeat), f(status.heartbeat_ns);
  f(status.training_step), f(status.plan_step), f(status.plan_hash), f(status.held_ns), f(status.failed_ns);
}

void put(ByteWriter& bytes, const RankEntry& entry) {
  bytes.put(entry.process.pid);
  bytes.put(entry.process.start_time);
  bytes.put(entry.phase);
  bytes.put(entry.failed_ns);
  bytes.put(static_cast<uint8_t>(entry.by_peer));
  bytes.put_text(entry.error);
}

void put(ByteWriter& bytes, const RankObservation& observation) {
  put(bytes, observation.entry);
  bytes.put(static_cast<uint8_t>(observation.status.has_value()));
  if (observation.status) {
    for_each_number(*observation.status, [&](const auto& value) { bytes.put(value); });
    bytes.put_text(observation.status->error_text);
  }
  bytes.put(observation.process.pid);
  bytes.put(observation.process.start_time);
  bytes.put(observation.process_state);
  bytes.put(static_cast<uint8_t>(observation.exit_status.has_value()));
  if (observation.exit_status) bytes.put(*observation.exit_status);
  bytes.put(observation.out_of_memory);
}

bool get_bool(ByteReader& bytes) {
  const auto value = bytes.get<uint8_t>();
  if (value > 1) bytes.fail("expected 0 or 1");
  return value == 1;
}

template <class Enum>
Enum get_enum(ByteReader& bytes, const char* fault) {
  const auto value = bytes.get<Enum>();
  if (static_cast<size_t>(value) >= enum_count<Enum>) bytes.fail(fault);
  return value;
}

RankEntry get_entry(ByteReader& bytes) {
  RankEntry entry;
  entry.process.pid = bytes.get<int32_t>();
  entry.process.start_time = bytes.get<uint64_t>();
  entry.phase = get_enum<RankPhase>(bytes, "unknown phase of a rank");
  entry.failed_ns = bytes.get<int64_t>();
  entry.by_peer = get_bool(bytes);
  entry.error = bytes.get_text();
  return entry;
}

RankObservation get_observation(ByteReader& bytes) {
  RankObservation observation;
  observation.entry = get_entry(bytes);
  if (get_bool(bytes)) {
    RankStatus status;
    for_each_number(status, [&](auto& value) { value = bytes.get<std::remove_cvref_t<decltype(value)>>(); });
    if (static_cast<size_t>(status.state) >= enum_count<RankState>) bytes.fail("unknown state of a rank");
    status.error_text = bytes.get_text();
    observation.status = std::move(status);
  }
  observation.process.pid = bytes.get<int32_t>();
  observation.process.start_time = bytes.get<uint64_t>();
  observation.process_state = bytes.get<char>();
  if (get_bool(bytes)) observation.exit_status = bytes.get<int32_t>();
  observation.out_of_memory = bytes.get<uint8_t>() != 0;
  return observation;
}

void put(ByteWriter& bytes, const RankReport& rank) {
  bytes.put(rank.rank);
  put(bytes, rank.observation);
  bytes.put_list(rank.steps);
  bytes.put(static_cast<uint64_t>(rank.traces.size()));
  for (const auto& [choice, trace] : rank.traces) {
    bytes.put(choice);
    bytes.put(trace.step);
    bytes.put_list(trace.times);
  }
  bytes.put(static_cast<uint8_t>(rank.load.has_value()));
  if (!rank.load) return;
  bytes.put(rank.load->step);
  bytes.put_list(rank.load->numbers);
}

RankReport get_rank(ByteReader& bytes) {
  RankReport rank;
  rank.rank = bytes.get<int>();
  if (rank.rank < 0) bytes.fail("a rank is negative");
  rank.observation = get_observation(bytes);
  rank.steps = bytes.get_list<StepRecord>();
  for (size_t count = bytes.get_count(sizeof(uint64_t)); count > 0; --count) {
    const auto choice = bytes.get<TraceChoice>();
    if (static_cast<size_t>(choice) >= std::size(trace_choices)) bytes.fail("unknown choice of a trace");
    RankTrace trace;
    trace.step = bytes.get<int64_t>();
    trace.times = bytes.get_list<PlanStepTime>();
    rank.traces.emplace_back(choice, std::move(trace));
  }
  if (!get_bool(bytes)) return rank;
  rank.load.emplace().step = bytes.get<int64_t>();
  rank.load->numbers = bytes.get_list<float>();
  return rank;
}

}  // namespace

std::string encode(const HostReport& report) {
  ByteWriter bytes;
  bytes.put(report.now_ns);
  bytes.put(static_cast<uint8_t>(report.more));
  bytes.put(static_cast<uint64_t>(report.ranks.size()));
  for (const RankReport& rank : report.ranks) put(bytes, rank);
  return bytes.take();
}

HostReport decode_host_report(std::string_view text) {
  ByteReader bytes(text, "bad_report");
  HostReport report;
  report.now_ns = bytes.get<int64_t>();
  report.more = get_bool(bytes);
  for (size_t count = bytes.get_count(sizeof(int)); count > 0; --count) report.ranks.push_back(get_rank(bytes));
  bytes.expect_end();
  return report;
}

}  // namespace shardscope
