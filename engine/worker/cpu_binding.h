#pragma once

#include <vector>

namespace shardscope {

// Of the CPUs that the ranks of a host may use, those of one of `count` ranks: neighbours, as many as the others have
// or one more. Where there are fewer CPUs than ranks each has one, which others have too.
//   share_of_cpus({0, 1, 2, 3, 8}, 1, 2)    {2, 3, 8}
std::vector<int> share_of_cpus(const std::vector<int>& cpus, int rank, int count);

// Keeps this thread, and those that it starts, to the share of this rank among those that mpirun has started on this
// host. Without effect elsewhere, and where the system refuses it.
void bind_to_share_of_cpus();

}  // namespace shardscope
