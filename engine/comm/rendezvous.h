#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/comm/control_region.h"

namespace shardscope {

// One member's side of its group's meeting points, each in two halves: arrive() says that this member has come and
// returns at once; await() sleeps until all have come. What a member wrote before it arrived, all see after they
// awaited.
//
// A waiter sleeps on the slot's generation word. Every 100 ms it looks whether a member of its group has ended; every
// millisecond it does what the region wants done meanwhile, if anything.
class Rendezvous {
 public:
  // `world_ranks` are the group's members, by their rank in the region; both must outlive this.
  Rendezvous(ControlRegion& region, GroupBlock& group, std::span<const int> world_ranks, int member);

  void arrive(size_t slot);
  // Have all come? If so, that is as good as having awaited them.
  bool has_met(size_t slot);
  // Throws Failure comm_aborted when the run is aborted, or a member has ended, before all have come.
  void await(size_t slot);

 private:
  void find_ended_member(size_t slot);

  ControlRegion& region_;
  GroupBlock& group_;
  std::span<const int> world_ranks_;
  int member_;
  std::array<uint32_t, GroupBlock::slot_count> generations_{};  // of the rendezvous to come, bit 0 clear
};

}  // namespace shardscope
