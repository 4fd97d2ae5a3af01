#include "engine/plan/host_memory.h"

#include <fmt/format.h>

namespace shardscope {
namespace {

// Whole MiB; where these are many, GiB or TiB.
std::string size_text(int64_t bytes) {
  constexpr int64_t many = 10'000;
  const int64_t mebibytes = bytes >> 20;
  if (mebibytes < many) return fmt::format("{} MiB", mebibytes);
  const double gibibytes = double(mebibytes) / 1024;
  return gibibytes < many ? fmt::format("{:.1f} GiB", gibibytes) : fmt::format("{:.1f} TiB", gibibytes / 1024);
}

int ranks_sharing_memory(const Plan& plan) {
  return plan.machine.device.kind == DeviceKind::host_cores ? plan.ranks_on_host() : 1;
}

}  // namespace

std::optional<Error> host_memory_excess(int64_t rank_bytes, int ranks, int64_t memory_bytes) {
  const int64_t needed = rank_bytes * ranks;
  if (memory_bytes == 0 || needed <= memory_bytes) return std::nullopt;
  return Error{"memory",
               fmt::format("the ranks need {} together, the host has {}", size_text(needed), size_text(memory_bytes)),
               "mesh", "split more, or use a smaller batch"};
}

std::optional<Error> host_memory_excess(const Plan& plan) {
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
