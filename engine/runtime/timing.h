#pragma once

#include <functional>
#include <vector>

#include "engine/runtime/measurements.h"

namespace shardscope {

// Of what each repetition took; at least one.
Timing timing_of(std::vector<double> seconds);

// Processor time of the calling thread so far, s.
double processor_seconds();

// Calls body(i) for i < count, each on a thread of its own, and throws the first exception when all have ended.
void run_on_threads(int count, const std::function<void(int)>& body);

}  // namespace shardscope
