#include "engine/plan/host_memory.h"

#include <fmt/format.h>

namespace shardscope {

std::optional<Error> host_memory_excess(const Plan& plan) {
  const int64_t needed = plan.totals.memory_total * plan.profile.ranks_on_host(plan.mesh.device_count());
  if (needed <= plan.profile.memory_bytes) return std::nullopt;
  return Error{
      "memory",
      fmt::format("the ranks need {} MiB together, the host has {} MiB", needed >> 20, plan.profile.memory_bytes >> 20),
      "mesh", "split more, or use a smaller batch"};
}

void require_host_memory(const Plan& plan, bool force) {
  std::optional<Error> excess = force ? std::nullopt : host_memory_excess(plan);
  if (!excess) return;
  excess->hint += "; --force trains all the same";
  throw Failure(std::move(*excess));
}

}  // namespace shardscope
