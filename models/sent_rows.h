#pragma once

#include "engine/ops/dispatch.h"
#include "models/registry.h"

namespace shardscope {

// How many rows of tokens go from a device to the experts of another.
struct SentRows {
  DispatchAttributes blocks;
  double filled = 1;  // the share of the rows that are there where all experts are chosen equally often
};

// Of choices (b, s, k) of so many experts, cut into such blocks. `capacity_factor`: rows that a block of experts takes
// of a block of tokens, over those that it gets where all experts are chosen equally often; 0: as many as may come.
SentRows sent_rows(const Shape& choices, int64_t experts, const TokenBlocks& blocks, double capacity_factor);

}  // namespace shardscope
