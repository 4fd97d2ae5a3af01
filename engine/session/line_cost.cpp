#include "engine/session/line_cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/json_memory.h"

namespace shardscope {

namespace {

constexpr size_t value_bytes = 32, list_bytes = 96;  // as json_memory() counts them
constexpr size_t frame_bytes = 4096;                 // of a trace besides its ranks

size_t plan_steps_of(const TraceMessage& trace) {
  size_t count = 0;
  for (const std::vector<PlanStepTime>& times : trace.ranks) count += times.size();
  return count;
}

}  // namespace

LineCost& LineCost::operator+=(const LineCost& other) {
  bytes += other.bytes;
  parsed_bytes += other.parsed_bytes;
  return *this;
}

size_t LineCost::fitting(size_t part) const {
  return std::min(message_limits::line_bytes / part / std::max<size_t>(bytes, 1),
                  message_limits::parsed_bytes / part / std::max<size_t>(parsed_bytes, 1));
}

LineCost cost_of(const Message& message) {
  const std::string line = to_json_line(message);
  return {line.size(), json_memory(line)};
}

LineCost cost_of(const TraceMessage& trace) {
  const size_t numbers = 3 * plan_steps_of(trace), lists = trace.ranks.size();
  int64_t last = 0;
  for (const std::vector<PlanStepTime>& times : trace.ranks) {
    for (const PlanStepTime& time : times) last = std::max(last, time.end_ns);
  }
  const size_t digits = std::to_string(last).size();
  return {frame_bytes + numbers * (digits + 1) + lists * 3,
          frame_bytes + numbers * value_bytes + lists * (list_bytes + value_bytes)};
}

bool is_sendable(const TraceMessage& trace) { return cost_of(trace).fitting(trace_part) > 0; }

std::string unsendable_note(const TraceMessage& trace) {
  return fmt::format(
      "warning: the trace of training step {} ({} plan steps of all ranks) is too large to be sent; traces of this "
      "size are left out of the window and the record",
      trace.step, plan_steps_of(trace));
}

}  // namespace shardscope
