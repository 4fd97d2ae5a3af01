#include "engine/plan/memory_limit.h"

namespace shardscope {

int64_t memory_limit(const ShardingConfig& sharding, const MachinePrices& machine) {
  return sharding.memory_limit_mib ? *sharding.memory_limit_mib << 20 : machine.memory_bytes();
}

}  // namespace shardscope
