#include "engine/worker/outside_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

constexpr int64_t least_interval_ns = 10'000'000'000;
constexpr int64_t times_the_look = 1000;

}  // namespace

int64_t private_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  int64_t kibibytes = 0;
  for (std::string line; std::getline(file, line);) {
    for (const std::string_view key : {"Pss_Anon:", "SwapPss:"}) {
      if (line.starts_with(key)) kibibytes += std::stoll(line.substr(key.size()));
    }
  }
  return kibibytes * 1024;
}

int64_t OutsideMemory::bytes() {
  const int64_t begin = monotonic_ns();
  if (looks_ >= 2 && begin < due_ns_) return bytes_;
  ++looks_;
  bytes_ = private_bytes();
  const int64_t end = monotonic_ns();
  due_ns_ = end + std::max(least_interval_ns, times_the_look * (end - begin));
  return bytes_;
}

}  // namespace shardscope
