#pragma once

#include <cstdint>

#include "engine/comm/communicator.h"
#include "engine/comm/rank_world.h"

namespace shardscope {

// Ranks of one machine that find different texts in this variable act as if they were on different hosts.
inline constexpr const char* host_variable = "SHARDSCOPE_HOST";

// The world in which the ranks of `mpi` run a program (collective): one rank is alone with its arena, ranks of one host
// share memory, and ranks of several hosts share it inside each host and speak MPI between hosts (HostsCommunicator).
RankWorld make_world(Communicator& mpi, int64_t arena_bytes);

}  // namespace shardscope
