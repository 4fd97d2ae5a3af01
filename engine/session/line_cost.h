#pragma once

#include <cstddef>
#include <string>

#include "engine/session/messages.h"

namespace shardscope {

// What a message takes of what a client accepts of a run (message_limits): a sender stays below, so that whoever comes
// can always attach. A trace of more than a quarter is not sent. A greeting takes no more than half.
struct LineCost {
  size_t bytes = 0;
  size_t parsed_bytes = 0;  // json_memory()

  LineCost& operator+=(const LineCost& other);
  // How many of its kind fit into 1/`part` of what is accepted.
  size_t fitting(size_t part) const;
};

LineCost cost_of(const Message& message);
// At most; the line is not made.
LineCost cost_of(const TraceMessage& trace);

inline constexpr size_t trace_part = 4;
bool is_sendable(const TraceMessage& trace);
// "the trace of training step 7 (2000000 plan steps of all ranks) is too large to be sent; ..."
std::string unsendable_note(const TraceMessage& trace);

}  // namespace shardscope
