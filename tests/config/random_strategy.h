#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "engine/config/strategy.h"

namespace shardscope::test {

// Strategies of at most so many devices, of degrees that are powers of 2.
class RandomStrategies {
 public:
  RandomStrategies(uint32_t seed, int64_t devices) : random_(seed), devices_(devices) {}

  StrategyConfig next() {
    StrategyConfig strategy;
    std::vector<std::string> axes = default_order();
    std::shuffle(axes.begin(), axes.end(), random_);
    int64_t left = devices_;
    for (const std::string& axis : axes) {
      int64_t size = 1;
      while (2 * size <= left && below(3) == 0) size *= 2;
      *find_degree(strategy, axis) = size;
      left /= size;
    }
    if (strategy.pipeline > 1 && below(2)) strategy.virtual_stages = 2;
    static const char* const schedules[] = {"gpipe", "1f1b", "zero_bubble"};
    if (strategy.virtual_stages == 1) strategy.pipeline_schedule = schedules[below(3)];
    strategy.sequence_parallel = below(2) == 1;
    if (strategy.fsdp == 1) strategy.zero = below(4);
    if (below(2)) strategy.microbatch_size = 1 + below(2);
    static const char* const policies[] = {"", "none", "selective", "full", "{mlp,selective}"};
    strategy.recompute = policies[below(5)];
    if (below(3) == 0) strategy.order = axes;
    return strategy;
  }

  int below(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }

 private:
  std::mt19937 random_;
  int64_t devices_;
};

}  // namespace shardscope::test
