#include "engine/comm/rendezvous.h"

#include "engine/comm/futex.h"

namespace shardscope {

namespace {

constexpr uint32_t one_generation = 2;

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
  region_.await_change(group_.generation, generation_, world_ranks_[static_cast<size_t>(member_)],
                       [this] { find_ended_member(); });
  generation_ += one_generation;
}

void Rendezvous::find_ended_member() {
  for (int other = 0; other < static_cast<int>(group_.size); ++other) {
    const int rank = world_ranks_[static_cast<size_t>(other)];
    if (region_.abort_if_ended(rank, group_.member(other).left, group_.generation, generation_)) return;
  }
}

}  // namespace shardscope
