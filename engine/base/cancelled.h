#pragma once

#include <stop_token>

namespace shardscope {

// Thrown by work whose result is not wanted any longer.
struct Cancelled {};

inline void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Cancelled{};
}

}  // namespace shardscope
