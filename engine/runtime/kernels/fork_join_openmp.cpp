#include "engine/runtime/kernels/fork_join.h"

namespace shardscope {

void fork_join(int parts, PartFunction function, void* body) {
#pragma omp parallel for schedule(static, 1) num_threads(parts)
  for (int part = 0; part < parts; ++part) function(body, part);
}

}  // namespace shardscope
