#include "engine/comm/rendezvous.h"

#include "engine/comm/futex.h"

namespace shardscope {

namespace {

constexpr uint32_t abort_bit = 1;
constexpr uint32_t one_generation = 2;
constexpr std::chrono::milliseconds patience{100};
constexpr std::chrono::milliseconds patience_with_work{1};

}  // namespace

Rendezvous::Rendezvous(ControlRegion& region, GroupBlock& group, std::span<const int> world_ranks, int member)
    : region_(region), group_(group), world_ranks_(world_ranks), member_(member) {}

void Rendezvous::arrive() {
  if (group_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < group_.size) return;
  group_.arrived.store(0, std::memory_order_relaxed);
  group_.generation.fetch_add(one_generation, std::memory_order_release);
  if (group_.size > 1) futex_wake_all(group_.generation);
}

void Rendezvous::await() {
  const std::function<void()>& work = region_.work_while_waiting();
  for (std::chrono::milliseconds waited{0};;) {
    uint32_t seen = group_.generation.load(std::memory_order_acquire);
    if ((seen & ~abort_bit) != generation_) break;
    if (seen & abort_bit) region_.check_aborted(world_ranks_[static_cast<size_t>(member_)]);
    const std::chrono::milliseconds longest = work ? patience_with_work : patience;
    if (futex_wait(group_.generation, seen, longest)) continue;
    if (work) work();
    waited += longest;
    if (waited % patience != std::chrono::milliseconds{0}) continue;
    region_.check_aborted(world_ranks_[static_cast<size_t>(member_)]);
    find_ended_member();
  }
  generation_ += one_generation;
}

// A member that ends after the rendezvous is complete has done its part, so the generation is looked at again.
void Rendezvous::find_ended_member() {
  for (int other = 0; other < static_cast<int>(group_.size); ++other) {
    int rank = world_ranks_[static_cast<size_t>(other)];
    bool left = group_.member(other).left.load(std::memory_order_acquire) != 0;
    if (!left && !region_.has_ended(rank)) continue;
    if ((group_.generation.load(std::memory_order_acquire) & ~abort_bit) != generation_) return;
    region_.abort(left ? ControlRegion::Cause::left : ControlRegion::Cause::process_ended, rank);
    return;
  }
}

}  // namespace shardscope
