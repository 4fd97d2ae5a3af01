#pragma once

#include <cstdint>

#include "engine/comm/communicator.h"
#include "engine/comm/rank_world.h"

namespace shardscope {

// The world in which the ranks of `mpi` run a program (collective): one rank is alone with its arena, ranks of one host
// share memory, and ranks of several hosts speak MPI, each with an arena of plain memory.
RankWorld make_world(Communicator& mpi, int64_t arena_bytes);

}  // namespace shardscope
