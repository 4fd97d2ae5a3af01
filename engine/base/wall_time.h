#pragma once

#include <chrono>

namespace shardscope {

inline double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace shardscope
