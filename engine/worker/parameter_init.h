#pragma once

#include <cstdint>

#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"

namespace shardscope {

struct StoredBytes {
  int64_t parameters = 0;
  int64_t optimizer = 0;
};

// Writes what a rank stores between steps: its shard of every state's first value. Returns the bytes written.
StoredBytes initialize_stored(const Plan& plan, int device, const Executor& executor);

}  // namespace shardscope
