#include <algorithm>
#include <atomic>
#include <chrono>

#include "engine/runtime/measurements.h"
#include "engine/runtime/timing.h"

namespace shardscope {

double measure_other_work(int cores, double seconds) {
  using Clock = std::chrono::steady_clock;
  std::atomic<double> wall = 0, processor = 0;
  run_on_threads(cores, [&](int) {
    const double processor_before = processor_seconds();
    const Clock::time_point before = Clock::now();
    double passed = 0;
    while (passed < seconds) passed = std::chrono::duration<double>(Clock::now() - before).count();
    processor += processor_seconds() - processor_before;
    wall += passed;
  });
  return wall > 0 ? std::clamp(1 - processor / wall, 0.0, 1.0) : 0;
}

}  // namespace shardscope
