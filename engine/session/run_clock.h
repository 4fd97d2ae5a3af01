#pragma once

#include <algorithm>
#include <cstdint>

namespace shardscope {

// The clock by which a run's deadlines are measured: it stands still while the process that supervises the run does not
// run itself (stopped, suspended, kept from the processor), and so cannot have seen what happened. Nanoseconds.
class RunClock {
 public:
  // `real_ns` of a clock that never goes back.
  int64_t tick(int64_t real_ns) {
    if (last_real_ns_) now_ns_ += std::clamp<int64_t>(real_ns - last_real_ns_, 0, longest_tick_ns);
    last_real_ns_ = real_ns;
    return now_ns_;
  }

 private:
  static constexpr int64_t longest_tick_ns = 500'000'000;
  int64_t last_real_ns_ = 0;
  int64_t now_ns_ = 0;
};

}  // namespace shardscope
