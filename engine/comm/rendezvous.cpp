#include "engine/comm/rendezvous.h"

#include "engine/comm/futex.h"

namespace shardscope {

namespace {

constexpr uint32_t one_generation = 2;

}  // namespace

Rendezvous::Rendezvous(ControlRegion& region, GroupBlock& group, std::span<const int> world_ranks, int member)
    : region_(region), group_(group), world_ranks_(world_ranks), member_(member) {}

void Rendezvous::arrive(size_t slot) {
  auto& [generation, arrived] = group_.meetings[slot];
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < group_.size) return;
  arrived.store(0, std::memory_order_relaxed);
  generation.fetch_add(one_generation, std::memory_order_release);
  if (group_.size > 1) futex_wake_all(generation);
}

bool Rendezvous::has_met(size_t slot) {
  const uint32_t seen = group_.meetings[slot].generation.load(std::memory_order_acquire);
  if ((seen & ~abort_bit) == generations_[slot]) return false;
  generations_[slot] += one_generation;
  return true;
}

void Rendezvous::await(size_t slot) {
  region_.await_change(group_.meetings[slot].generation, generations_[slot], world_ranks_[static_cast<size_t>(member_)],
                       [this, slot] { find_ended_member(slot); });
  generations_[slot] += one_generation;
}

void Rendezvous::find_ended_member(size_t slot) {
  for (int other = 0; other < static_cast<int>(group_.size); ++other) {
    const int rank = world_ranks_[static_cast<size_t>(other)];
    if (region_.abort_if_ended(rank, group_.member(other).left, group_.meetings[slot].generation, generations_[slot])) {
      return;
    }
  }
}

}  // namespace shardscope
