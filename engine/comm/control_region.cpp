#include "engine/comm/control_region.h"

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
  std::atomic<uint64_t> newest;       // offset of the newest group
  uint64_t capacity;
  uint32_t ranks;

  Rank& rank(int index) { return *(reinterpret_cast<Rank*>(this + 1) + index); }
};

namespace {

constexpr int64_t groups_per_rank = 256;

uint64_t align(uint64_t bytes) { return static_cast<uint64_t>(round_up(static_cast<int64_t>(bytes))); }

uint64_t group_bytes(int size) { return align(sizeof(GroupBlock) + static_cast<uint64_t>(size) * sizeof(MemberBlock)); }

}  // namespace

int64_t ControlRegion::bytes_for(int ranks) {
  return 65536 + ranks * groups_per_rank * static_cast<int64_t>(sizeof(MemberBlock) + sizeof(GroupBlock));
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

uint64_t ControlRegion::make_group(int size) {
  uint64_t bytes = group_bytes(size);
  uint64_t offset = header().used.load();
  do {
    if (offset + bytes > header().capacity) return 0;
  } while (!header().used.compare_exchange_weak(offset, offset + bytes));
  auto* block = new (mapping_.data() + offset) GroupBlock;
  block->size = static_cast<uint32_t>(size);
  for (int member = 0; member < size; ++member) new (&block->member(member)) MemberBlock;
  block->older = header().newest.load();
  while (!header().newest.compare_exchange_weak(block->older, offset)) {
  }
  return offset;
}

GroupBlock& ControlRegion::group(uint64_t offset) const {
  return *reinterpret_cast<GroupBlock*>(mapping_.data() + offset);
}

void ControlRegion::abort(Cause cause, int rank) noexcept {
  uint32_t none = 0;
  header().abort_cause.compare_exchange_strong(none, static_cast<uint32_t>(cause) | static_cast<uint32_t>(rank) << 8);
  for (uint64_t offset = header().newest.load(); offset != 0; offset = group(offset).older) {
    group(offset).generation.fetch_or(1);
    futex_wake_all(group(offset).generation);
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

bool ControlRegion::has_ended(int rank) const {
  Header::Rank& process = header().rank(rank);
  return !is_alive({process.pid.load(), process.start_time.load()});
}

}  // namespace shardscope
