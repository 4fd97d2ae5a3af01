#pragma once

#include <memory>
#include <vector>

#include "engine/comm/communicator.h"

namespace shardscope {

// A group whose ranks are threads of this process; the i-th communicator is for the thread that runs rank i. Arrays may
// lie anywhere in the process.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int ranks);

}  // namespace shardscope
