#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/ops/equation.h"
#include "engine/runtime/measurements.h"
#include "engine/runtime/timed_op.h"

namespace shardscope {

namespace {

// Of the first core's cache of this level; 0: not known. sysconf may say what a virtual machine's host has.
int64_t cache_bytes(int level) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/cpu/cpu0/cache", ignored)) {
    int number = 0;
    int64_t kibibytes = 0;
    std::ifstream(entry.path() / "level") >> number;
    if (number != level) continue;
    std::ifstream(entry.path() / "size") >> kibibytes;
    if (kibibytes > 0) return kibibytes << 10;
  }
  return std::max(0L, ::sysconf(level == 2 ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL3_CACHE_SIZE));
}

constexpr int64_t most_bytes = int64_t{96} << 20;  // that a core touches
constexpr int64_t columns = 200;

}  // namespace

std::vector<MemoryTiming> measure_memory(int cores, double seconds) {
  std::vector<MemoryTiming> levels;
  int64_t inside = int64_t{64} << 10;  // of a core
  for (int level : {2, 3}) {
    const int64_t capacity = cache_bytes(level), of_core = level == 2 ? capacity : capacity / cores;
    if (of_core <= 2 * inside || of_core > most_bytes / 2) continue;
    levels.push_back({level == 2 ? "L2" : "L3", capacity, level == 3, static_cast<double>(of_core) / 2, {}});
    inside = of_core;
  }
  levels.push_back({"memory", 0, false, static_cast<double>(std::clamp(4 * inside, most_bytes / 4, most_bytes)), {}});
  for (MemoryTiming& level : levels) {
    const TensorType array{{static_cast<int64_t>(level.bytes) / 12 / columns, columns}};
    level.bytes = 3 * static_cast<double>(array.bytes());
    const double each = seconds / static_cast<double>(levels.size());
    level.time = time_op(cores, each, 0, "add", EquationAttributes{"re,re->re"}, {array, array}).time;
  }
  return levels;
}

}  // namespace shardscope
