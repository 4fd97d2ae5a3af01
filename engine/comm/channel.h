#pragma once

#include <cstddef>
#include <span>

#include "engine/comm/communication_record.h"

namespace shardscope {

// One directed stream of messages from one rank of a group to another; messages arrive in the order sent. A message is
// a list of arrays, of the same bytes in the same order on both ends. The sender goes on while its message is under
// way, one at a time:
//
//   sender     start_send(a) . compute .......... start_send(b): waits for "taken" . compute . finish_send
//   receiver   ....................... receive(a): copies, "taken" ................. receive(b)
//
// Arrays of a message of up to 8 KiB may lie anywhere; those of larger ones lie in the arena, on both ends. Calls throw
// Failure as the group's own do: comm_aborted where the run is aborted or the other end has left or ended while this
// one waits; comm_argument on the receiver, naming both ranks and what each has, where the message is another one.
// A channel may be destroyed at any time, also after an abort: that waits for nothing. Each call returns what it cost.
class Channel {
 public:
  static constexpr size_t max_arrays = 1024;  // of a message

  virtual ~Channel() = default;
  // Sender. Waits until the message before has been taken, as finish_send does, then publishes the arrays and returns.
  // They must stay unchanged until the receiver has taken them.
  virtual CommunicationRecord start_send(std::span<const std::span<const std::byte>> arrays) = 0;
  // Sender. Waits until the last message has been taken; returns at once where none is under way.
  virtual CommunicationRecord finish_send() = 0;
  // Receiver. Waits until the next message is there, copies it, and lets the sender know.
  virtual CommunicationRecord receive(std::span<const std::span<std::byte>> arrays) = 0;
};

}  // namespace shardscope
