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
#include "engine/comm/communicator.h"
#include "engine/comm/mapping.h"

namespace shardscope {

inline constexpr uint32_t abort_bit = 1;  // of the words on which ranks wait

// What one member of a group shows to the others in one call, which is small or not.
struct MemberSlot {
  static constexpr int64_t max_entries = 1024;    // published addresses at a time; longer lists go in rounds
  static constexpr int64_t payload_bytes = 8192;  // sources of small calls are copied here

  struct Call {
    uint64_t signature;
    uint64_t part_count;
    uint32_t kind;
  };

  alignas(64) Call call;
  union {
    alignas(64) std::array<uint64_t, max_entries> entries;
    std::array<std::byte, payload_bytes> payload;
  };
};

// The meeting points of a group: call n uses slot n modulo their number, which is twice that of calls that may be open.
// A member that starts call n + slot_count has finished call n + slot_count / 2, so that all had started that one and
// finished call n: none looks at what is overwritten, and starting a call waits for no one.
struct GroupBlock {
  static constexpr size_t slot_count = 2 * Communicator::max_open_tickets;

  // Bit 0 of `generation` is set by an abort; the rest counts completed rendezvous.
  struct Meeting {
    alignas(64) std::atomic<uint32_t> generation;
    alignas(64) std::atomic<uint32_t> arrived;
  };
  struct Member {
    alignas(64) std::atomic<uint32_t> left;  // 1 after the member's communicator is gone
  };

  std::array<Meeting, slot_count> meetings;
  uint64_t older;  // offset of the group made before this one
  uint32_t size;

  static uint64_t bytes(int size) {
    return sizeof(GroupBlock) + static_cast<uint64_t>(size) * (sizeof(Member) + slot_count * sizeof(MemberSlot));
  }
  Member& member(int index) { return *(reinterpret_cast<Member*>(this + 1) + index); }
  MemberSlot& slot(int member, size_t slot) {
    auto* first = reinterpret_cast<MemberSlot*>(&this->member(static_cast<int>(size)));
    return *(first + static_cast<size_t>(member) * slot_count + slot);
  }
};

// The meeting point of a channel's two ends. Bit 0 of `sent` and `taken` is set by an abort; the rest counts messages.
// The sender writes the first and third group of fields, the receiver the second.
struct ChannelBlock {
  static constexpr int64_t payload_bytes = MemberSlot::payload_bytes;  // messages of no more bytes are copied here

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

  // Offset of a new group's block; 0 when the region is full (a rank can be in 250 groups or more).
  uint64_t make_group(int size);
  GroupBlock& group(uint64_t offset) const;

  // Offset of the first of `count` new channels, one or more; 0 when the region is full (a rank can be an end of 1000
  // or more).
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
