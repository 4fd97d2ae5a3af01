#include "engine/worker/sampled_number.h"

#include <algorithm>

#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

constexpr int64_t times_the_measurement = 1000;

}  // namespace

int64_t SampledNumber::value() {
  const int64_t begin = monotonic_ns();
  if (measured_ >= 2 && begin < due_ns_) return value_;
  ++measured_;
  value_ = measure_();
  const int64_t end = monotonic_ns();
  due_ns_ = end + std::max(least_interval_ns_, times_the_measurement * (end - begin));
  return value_;
}

}  // namespace shardscope
