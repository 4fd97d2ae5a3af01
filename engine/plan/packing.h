#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/arena_layout.h"

namespace shardscope {

// Gives every buffer an offset, such that none overlaps another while both are alive; returns the bytes of the arena.
int64_t pack(std::vector<Buffer>& buffers, int length);

}  // namespace shardscope
