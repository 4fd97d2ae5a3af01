#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "engine/comm/channel.h"
#include "engine/comm/communicator.h"

namespace shardscope {

// What both ends must agree on.
struct MessageShape {
  uint64_t arrays = 0;
  uint64_t bytes = 0;  // of all arrays
  uint64_t signature = 0;

  bool operator==(const MessageShape&) const = default;
};

// What all implementations share: that the right end makes the call is checked, and what it costs is recorded here.
// An implementation sees checked calls; await_taken() is called after each publish(), before the next. All but the two
// that await count as transfer.
class ChannelEnd : public Channel {
 public:
  // Ranks of the run, by which messages name them.
  struct Ends {
    int from = 0, to = 0;
    bool sends = false;  // this is the sender's

    int own() const { return sends ? from : to; }
    int other() const { return sends ? to : from; }
  };
  using Sources = std::span<const std::span<const std::byte>>;
  using Destinations = std::span<const std::span<std::byte>>;

  ChannelEnd(const Ends& ends, std::shared_ptr<CommunicationTotals> totals) : ends_(ends), totals_(std::move(totals)) {}

  CommunicationRecord start_send(Sources arrays) final;
  CommunicationRecord finish_send() final;
  CommunicationRecord receive(Destinations arrays) final;

 protected:
  const Ends& ends() const { return ends_; }
  // Adds to the call's moved_bytes what a copy read, or a send handed to MPI.
  void count_moved(int64_t bytes) { record_.moved_bytes += bytes; }
  virtual void publish(Sources arrays, const MessageShape& shape) = 0;
  virtual void await_taken() = 0;
  // Waits until the next message is there and returns its shape; then copies it.
  virtual MessageShape await_message() = 0;
  virtual void take(Destinations arrays, const MessageShape& shape) = 0;

 private:
  template <class Array>
  MessageShape shape_of(std::span<const Array> arrays) const;
  template <class Call>
  CommunicationRecord recorded(const Call& call);
  template <class Wait>
  void count_waiting(const Wait& wait);
  void wait_until_taken();
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;

  Ends ends_;
  std::shared_ptr<CommunicationTotals> totals_;
  CommunicationRecord record_;  // of the call under way
  bool under_way_ = false;
};

}  // namespace shardscope
