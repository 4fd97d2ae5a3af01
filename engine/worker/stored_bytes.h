#pragma once

#include <cstdint>

#include "engine/plan/plan.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/executor.h"

namespace shardscope {

struct StoredBytes {
  int64_t parameters = 0;
  int64_t optimizer = 0;  // and other state that is not trained
};

// What the states' initial values have overwritten of a rank's arena: measured, not planned.
StoredBytes measure_stored(const Plan& plan, const Executor& executor, const Arena& arena);

}  // namespace shardscope
