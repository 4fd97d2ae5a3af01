#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/base/process.h"
#include "engine/comm/channel_end.h"
#include "engine/comm/mapping.h"

namespace shardscope {

// What one member of a group shows to the others. `signature`, `part_count`, `kind` and `payload` are double-buffered
// by the parity of the call: a member that has passed call k + 1 has seen all others leave call k.
struct MemberBlock {
  static constexpr int64_t max_entries = 1024;    // published addresses at a time; longer lists go in rounds
  static constexpr int64_t payload_bytes = 8192;  // calls with fewer bytes of sources are copied here

  struct Call {
    uint64_t signature;
    uint64_t part_count;
    uint32_t kind;
  };

  alignas(64) std::atomic<uint32_t> left;  // 1 after the member's communicator is gone
  std::array<Call, 2> call;
  alignas(64) std::array<uint64_t, max_entries> entries;
  alignas(64) std::array<std::array<std::byte, payload_bytes>, 2> payload;
};

// The meeting point of a group. Bit 0 of `generation` is set by an abort; the rest counts completed rendezvous.
struct GroupBlock {
  alignas(64) std::atomic<uint32_t> generation;
  alignas(64) std::atomic<uint32_t> arrived;
  uint64_t older;  // offset of the group made before this one
  uint32_t size;

  MemberBlock& member(int index) { return *(reinterpret_cast<MemberBlock*>(this + 1) + index); }
};

// The meeting point of a channel's two ends. Bit 0 of `sent` and `taken` is set by an abort; the rest counts messages.
// The sender writes the first and third group of fields, the receiver the second.
struct ChannelBlock {
  static constexpr int64_t payload_bytes = MemberBlock::payload_bytes;  // messages of no more bytes are copied here

  alignas(64) std::atomic<uint32_t> sent;
  std::atomic<uint32_t> sender_left;  // 1 after the sender's channel is gone
  MessageShape shape;
  uint64_t older;  // offset of the channel made before this one

  alignas(64) std::atomic<uint32_t> taken;
  std::atomic<uint32_t> receiver_left;

  alignas(64) std::array<uint64_t, Channel::max_arrays> entries;  // published addresses
  alignas(64) std::array<std::byte, payload_bytes> payload;
};

// Memory that all ranks of a run have mapped: the groups' and channels' blocks, who the ranks are, and whether the run
// was aborted. Its content is position-independent and built of lock-free atomics, so it may lie in shared memory.
class ControlRegion {
 public:
  // Address space that a region for `ranks` ranks takes (pages that are never used cost nothing).
  static int64_t bytes_for(int ranks);

  // The creator, and it alone, passes `fresh`.
  ControlRegion(Mapping mapping, int ranks, bool fresh);

  int ranks() const;
  void set_process(int rank, const ProcessId& process);

  // Offset of a new group's block; 0 when the region is full (a rank can be in about 250 groups).
  uint64_t make_group(int size);
  GroupBlock& group(uint64_t offset) const;

  // Offset of the first of `count` new channels, one or more; 0 when the region is full (a rank can be an end of about
  // 1000).
  uint64_t make_channels(size_t count);
  ChannelBlock& channel(uint64_t first, size_t index) const;

  // Why the run was aborted: a rank said so, or was found to have ended (its process, or its communicator).
  enum class Cause : uint32_t { none, called, process_ended, left };
  // The first cause wins. Wakes every waiter.
  void abort(Cause cause, int rank) noexcept;
  bool aborted() const;
  // Throws Failure comm_aborted, naming the rank that caused it, when the run was aborted. `rank` is the caller.
  void check_aborted(int rank) const;

  // What this process does every millisecond while it waits for its peers (MPI goes on only when it is called). It may
  // throw.
  void while_waiting(std::function<void()> work) { while_waiting_ = std::move(work); }
  const std::function<void()>& work_while_waiting() const { return while_waiting_; }

  // Sleeps until `word`, bit 0 aside, is not `value`. Throws Failure comm_aborted, naming `rank` as the caller, when
  // bit 0 is set before. Every 100 ms it calls `look`, which looks whether a rank that is waited for has ended.
  void await_change(std::atomic<uint32_t>& word, uint32_t value, int rank, const std::function<void()>& look);
  // For `look`: true, and the run is aborted, where `other` has ended or set `left`. One that has ended after the word
  // changed has done its part: true alone.
  bool abort_if_ended(int other, const std::atomic<uint32_t>& left, const std::atomic<uint32_t>& word, uint32_t value);

 private:
  struct Header;
  Header& header() const { return *reinterpret_cast<Header*>(mapping_.data()); }
  uint64_t take(uint64_t bytes);
  bool has_ended(int rank) const;

  Mapping mapping_;
  std::function<void()> while_waiting_;
};

}  // namespace shardscope
