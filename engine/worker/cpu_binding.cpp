#include "engine/worker/cpu_binding.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace shardscope {

namespace {

int environment_number(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : -1;
}

}  // namespace

std::vector<int> share_of_cpus(const std::vector<int>& cpus, int rank, int count) {
  const int64_t all = std::ssize(cpus);
  const int64_t begin = rank * all / count, end = std::max(begin + 1, (rank + 1) * all / count);
  return {cpus.begin() + begin, cpus.begin() + end};
}

void bind_to_share_of_cpus() {
  const int rank = environment_number("OMPI_COMM_WORLD_LOCAL_RANK");
  const int count = environment_number("OMPI_COMM_WORLD_LOCAL_SIZE");
  cpu_set_t allowed;
  if (rank < 0 || rank >= count || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  cpu_set_t own;
  CPU_ZERO(&own);
  for (const int cpu : share_of_cpus(cpus, rank, count)) CPU_SET(cpu, &own);
  ::sched_setaffinity(0, sizeof own, &own);
}

}  // namespace shardscope
