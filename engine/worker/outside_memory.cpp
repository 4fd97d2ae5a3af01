#include "engine/worker/outside_memory.h"

#include <fstream>
#include <string>

namespace shardscope {

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

}  // namespace shardscope
