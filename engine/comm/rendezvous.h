#pragma once

#include <cstdint>
#include <span>

#include "engine/comm/control_region.h"

namespace shardscope {

// One member's side of its group's meeting point, in two halves: arrive() says that this member has come and returns
// at once; await() sleeps until all have come. What a member wrote before it arrived, all see after they awaited.
//
// A waiter sleeps on the generation word. Every 100 ms it looks whether a member of its group has ended; every
// millisecond it does what the region wants done meanwhile, if anything.
class Rendezvous {
 public:
  // `world_ranks` are the group's members, by their rank in the region; both must outlive this.
  Rendezvous(ControlRegion& region, GroupBlock& group, std::span<const int> world_ranks, int member);

  void arrive();
  // Throws Failure comm_aborted when the run is aborted, or a member has ended, before all have come.
  void await();

 private:
  void find_ended_member();

  ControlRegion& region_;
  GroupBlock& group_;
  std::span<const int> world_ranks_;
  int member_;
  uint32_t generation_ = 0;  // of the rendezvous to come, bit 0 clear
};

}  // namespace shardscope
