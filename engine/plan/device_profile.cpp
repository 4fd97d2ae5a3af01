#include "engine/plan/device_profile.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace shardscope {

int DeviceProfile::threads_per_rank(int ranks) const { return std::max(1, static_cast<int>(cores) / ranks); }

DeviceProfile host_profile() {
  DeviceProfile profile;
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0 && CPU_COUNT(&usable) != static_cast<int>(profile.cores)) {
    profile.cores = CPU_COUNT(&usable);
    profile.name = fmt::format("{}-core host", CPU_COUNT(&usable));
  }
  long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page_bytes > 0) profile.memory_bytes = int64_t{pages} * page_bytes;
  return profile;
}

}  // namespace shardscope
