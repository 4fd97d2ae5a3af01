#include <thread>
#include <vector>

#include "engine/runtime/kernels/fork_join.h"

namespace shardscope {

void fork_join(int parts, PartFunction function, void* body) {
  std::vector<std::jthread> threads;
  for (int part = 1; part < parts; ++part) threads.emplace_back(function, body, part);
  function(body, 0);
}

}  // namespace shardscope
