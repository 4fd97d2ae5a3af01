#pragma once

#include <memory>

#include "engine/comm/communicator.h"

namespace shardscope {

// A group of one: every collective is a copy.
std::unique_ptr<Communicator> make_self_communicator();

}  // namespace shardscope
