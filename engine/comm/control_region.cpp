#include "engine/comm/control_region.h"

#include <chrono>
#include <new>
#include <string>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/comm/futex.h"

namespace shardscope {

static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

struct ControlRegion::Header {
  struct Rank {
    std::atomic<int32_t> pid;
    std::atomic<uint64_t> start_time;
  };

  std::atomic<uint32_t> abort_cause;  // cause | rank << 8
  std::atomic<uint64_t> used;         // bytes of the region
  std::atomic<uint64_t> newest_group;
  std::atomic<uint64_t> newest_channel;
  uint64_t capacity;
  uint32_t ranks;

  Rank& rank(int index) { return *(reinterpret_cast<Rank*>(this + 1) + index); }
};

namespace {

constexpr int64_t groups_per_rank = 256, channels_per_rank = 1000;
constexpr std::chrono::milliseconds patience{100};
constexpr std::chrono::milliseconds patience_with_work{1};

uint64_t align(uint64_t bytes) { return static_cast<uint64_t>(round_up(static_cast<int64_t>(bytes))); }

constexpr uint64_t channel_bytes = sizeof(ChannelBlock);
static_assert(channel_bytes % 64 == 0);

// Blocks are found from the newest on.
void put_before(uint64_t offset, uint64_t& older, std::atomic<uint64_t>& newest) {
  older = newest.load();
  while (!newest.compare_exchange_weak(older, offset)) {
  }
}

void set_abort_bit(std::atomic<uint32_t>& word) {
  word.fetch_or(abort_bit);
  futex_wake_all(word);
}

}  // namespace

int64_t ControlRegion::bytes_for(int ranks) {
  const uint64_t of_a_rank = groups_per_rank * GroupBlock::bytes(1) + channels_per_rank / 2 * channel_bytes;
  return 65536 + ranks * static_cast<int64_t>(of_a_rank);
}

ControlRegion::ControlRegion(Mapping mapping, int ranks, bool fresh) : mapping_(std::move(mapping)) {
  if (!fresh) return;
  auto* made = new (mapping_.data()) Header;
  for (int rank = 0; rank < ranks; ++rank) new (&made->rank(rank)) Header::Rank;
  made->used = align(sizeof(Header) + static_cast<uint64_t>(ranks) * sizeof(Header::Rank));
  made->capacity = static_cast<uint64_t>(mapping_.bytes());
  made->ranks = static_cast<uint32_t>(ranks);
}

int ControlRegion::ranks() const { return static_cast<int>(header().ranks); }

void ControlRegion::set_process(int rank, const ProcessId& process) {
  header().rank(rank).start_time = process.start_time;
  header().rank(rank).pid = process.pid;
}

uint64_t ControlRegion::take(uint64_t bytes) {
  uint64_t offset = header().used.load();
  do {
    if (bytes > header().capacity - offset) return 0;
  } while (!header().used.compare_exchange_weak(offset, offset + bytes));
  return offset;
}

uint64_t ControlRegion::make_group(int size) {
  const uint64_t offset = take(align(GroupBlock::bytes(size)));
  if (offset == 0) return 0;
  auto* block = new (mapping_.data() + offset) GroupBlock;
  block->size = static_cast<uint32_t>(size);
  for (int member = 0; member < size; ++member) new (&block->member(member)) GroupBlock::Member;
  put_before(offset, block->older, header().newest_group);
  return offset;
}

uint64_t ControlRegion::make_channels(size_t count) {
  const uint64_t first = take(align(count * channel_bytes));
  if (first == 0) return 0;
  for (size_t i = 0; i < count; ++i) {
    auto* block = new (mapping_.data() + first + i * channel_bytes) ChannelBlock;
    put_before(first + i * channel_bytes, block->older, header().newest_channel);
  }
  return first;
}

ChannelBlock& ControlRegion::channel(uint64_t first, size_t index) const {
  return *reinterpret_cast<ChannelBlock*>(mapping_.data() + first + index * channel_bytes);
}

GroupBlock& ControlRegion::group(uint64_t offset) const {
  return *reinterpret_cast<GroupBlock*>(mapping_.data() + offset);
}

void ControlRegion::abort(Cause cause, int rank) noexcept {
  uint32_t none = 0;
  header().abort_cause.compare_exchange_strong(none, static_cast<uint32_t>(cause) | static_cast<uint32_t>(rank) << 8);
  for (uint64_t offset = header().newest_group.load(); offset != 0; offset = group(offset).older) {
    for (GroupBlock::Meeting& meeting : group(offset).meetings) set_abort_bit(meeting.generation);
  }
  for (uint64_t offset = header().newest_channel.load(); offset != 0; offset = channel(offset, 0).older) {
    set_abort_bit(channel(offset, 0).sent);
    set_abort_bit(channel(offset, 0).taken);
  }
}

bool ControlRegion::aborted() const { return header().abort_cause.load(std::memory_order_acquire) != 0; }

void ControlRegion::check_aborted(int rank) const {
  uint32_t word = header().abort_cause.load(std::memory_order_acquire);
  if (word == 0) return;
  auto culprit = static_cast<int>(word >> 8);
  std::string text = "rank " + std::to_string(culprit);
  switch (static_cast<Cause>(word & 0xff)) {
    case Cause::process_ended:
      text += " (process " + std::to_string(header().rank(culprit).pid.load()) + ") has ended in the middle of the run";
      break;
    case Cause::left: text += " has left the group in the middle of the run"; break;
    default: text += " ended the run"; break;
  }
  throw Failure(Error{"comm_aborted", text, on_rank(rank), {}});
}

void ControlRegion::await_change(std::atomic<uint32_t>& word, uint32_t value, int rank,
                                 const std::function<void()>& look) {
  const std::chrono::milliseconds longest = while_waiting_ ? patience_with_work : patience;
  for (std::chrono::milliseconds waited{0};;) {
    const uint32_t seen = word.load(std::memory_order_acquire);
    if ((seen & ~abort_bit) != value) return;
    if (seen & abort_bit) check_aborted(rank);
    if (futex_wait(word, seen, longest)) continue;
    if (while_waiting_) while_waiting_();
    waited += longest;
    if (waited % patience != std::chrono::milliseconds{0}) continue;
    check_aborted(rank);
    look();
  }
}

bool ControlRegion::abort_if_ended(int other, const std::atomic<uint32_t>& left, const std::atomic<uint32_t>& word,
                                   uint32_t value) {
  const bool has_left = left.load(std::memory_order_acquire) != 0;
  if (!has_left && !has_ended(other)) return false;
  if ((word.load(std::memory_order_acquire) & ~abort_bit) == value) {
    abort(has_left ? Cause::left : Cause::process_ended, other);
  }
  return true;
}

bool ControlRegion::has_ended(int rank) const {
  Header::Rank& process = header().rank(rank);
  return !is_alive({process.pid.load(), process.start_time.load()});
}

}  // namespace shardscope
