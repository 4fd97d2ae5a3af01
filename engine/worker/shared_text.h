#pragma once

#include <string>

#include "engine/comm/communicator.h"

namespace shardscope {

// Rank 0's text on every rank. Collective; for short texts.
std::string text_of_rank_0(const std::string& text, Communicator& ranks);

}  // namespace shardscope
