#pragma once

#include <cstdint>
#include <memory>

#include "engine/comm/communicator.h"

namespace shardscope {

// All ranks of MPI_COMM_WORLD; MPI must be up (MpiRuntime). Ranks may be on several hosts. Arrays may lie anywhere:
// they are packed, sent point to point, and summed by one rank a chunk in the order of ranks, so that sums are the same
// bits as those of the other communicators. Waiting sleeps. Collective.
std::unique_ptr<Communicator> make_mpi_communicator(int64_t max_message_bytes = int64_t{1} << 30);

}  // namespace shardscope
