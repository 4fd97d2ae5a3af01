#pragma once

#include <memory>
#include <vector>

#include "engine/comm/communicator.h"

namespace shardscope {

// A group whose ranks are threads of this process; the i-th communicator is for the thread that runs rank i. Arrays may
// lie anywhere in the process; where a rank gives up with collectives open, those stay until all ranks have ended,
// since others may still read them.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int ranks);

}  // namespace shardscope
