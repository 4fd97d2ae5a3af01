#pragma once

#include <cstdint>

#include "engine/base/random.h"
#include "engine/graph/graph.h"
#include "engine/mesh/sharding.h"
#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"

namespace shardscope {

// The initial values of the elements of `box` of a parameter of shape `shape`, row-major: jax.nn.initializers, with
// the Flax Linen key of the parameter under `root` = PRNGKey(seed). The same elements on every mesh.
void fill_initial(const Initializer& initializer, Key root, const Box& box, const Shape& shape, float* out);

struct StoredBytes {
  int64_t parameters = 0;
  int64_t optimizer = 0;
};

// Writes what a rank stores between steps: its shard of every parameter, from the run's seed, and zeros for the
// optimizer's state. Returns the bytes written.
StoredBytes initialize_stored(const Plan& plan, int device, const Executor& executor);

}  // namespace shardscope
