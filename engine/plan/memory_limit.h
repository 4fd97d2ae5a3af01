#pragma once

#include <cstdint>

#include "engine/config/run_config.h"
#include "engine/machine/machine_prices.h"

namespace shardscope {

// Bytes that a device may hold: what the run file says, else what the machine has for a rank; 0: not known.
int64_t memory_limit(const ShardingConfig& sharding, const MachinePrices& machine);

}  // namespace shardscope
