#include "engine/plan/host_memory.h"

#include <fmt/format.h>

#include "engine/base/units.h"

namespace shardscope {
namespace {

int ranks_sharing_memory(const Plan& plan) {
  return plan.machine.device.kind == DeviceKind::host_cores ? plan.ranks_on_host() : 1;
}

}  // namespace

std::optional<Error> host_memory_excess(int64_t rank_bytes, int ranks, int64_t memory_bytes) {
  const int64_t needed = rank_bytes * ranks;
  if (memory_bytes == 0 || needed <= memory_bytes) return std::nullopt;
  return Error{"memory",
               fmt::format("the ranks need {} together, the host has {}", bytes_text(double(needed)),
                           bytes_text(double(memory_bytes))),
               "mesh", "split more, or use a smaller batch"};
}

std::optional<Error> host_memory_excess(const Plan& plan) {
  const Device& device = plan.machine.device;
  const int64_t needed = plan.totals.memory_total;
  if (device.kind == DeviceKind::own && device.memory_bytes > 0 && needed > device.memory_bytes) {
    return Error{"memory",
                 fmt::format("the heaviest device needs {}, a device of {} has {}", bytes_text(double(needed)),
                             plan.machine.name, bytes_text(double(device.memory_bytes))),
                 "mesh", "split more, or use a smaller batch"};
  }
  return host_memory_excess(plan.totals.memory_total, ranks_sharing_memory(plan), plan.machine.device.memory_bytes);
}

void require_host_memory(const Plan& plan, bool force) {
  require_host_memory(plan, ranks_sharing_memory(plan), plan.machine.device.memory_bytes, force);
}

void require_host_memory(const Plan& plan, int ranks, int64_t memory_bytes, bool force) {
  std::optional<Error> excess =
      force ? std::nullopt : host_memory_excess(plan.totals.memory_total, ranks, memory_bytes);
  if (!excess) return;
  excess->hint += fmt::format("; {}", force_hint);
  throw Failure(std::move(*excess));
}

}  // namespace shardscope
