#include "engine/plan/host_memory.h"

#include <fmt/format.h>

#include "engine/base/units.h"

namespace shardscope {
namespace {

// `message` makes one of both sizes.
template <class Message>
std::optional<Error> excess(int64_t needed, int64_t available, Message message) {
  if (available == 0 || needed <= available) return std::nullopt;
  const auto [more, less] = compared_bytes(double(needed), double(available));
  return Error{"memory", message(more, less), "mesh", "split more, or use a smaller batch"};
}

void require(std::optional<Error> excess, bool force) {
  if (!excess || force) return;
  excess->hint += fmt::format("; {}", force_hint);
  throw Failure(std::move(*excess));
}

}  // namespace

std::optional<Error> host_memory_excess(int64_t rank_bytes, int ranks, int64_t memory_bytes) {
  return excess(rank_bytes * ranks, memory_bytes, [](const std::string& needed, const std::string& available) {
    return fmt::format("the ranks need {} together, the host has {}", needed, available);
  });
}

std::optional<Error> host_memory_excess(const Plan& plan) {
  const Device& device = plan.machine.device;
  if (device.kind == DeviceKind::host_cores)
    return host_memory_excess(plan.totals.memory_total, plan.ranks_on_host(), device.memory_bytes);
  return excess(
      plan.totals.device_bytes, device.memory_bytes, [&](const std::string& needed, const std::string& available) {
        return fmt::format("the heaviest device needs {}, a device of {} has {}", needed, plan.machine.name, available);
      });
}

void require_host_memory(const Plan& plan, bool force) { require(host_memory_excess(plan), force); }

void require_host_memory(const Plan& plan, int ranks, int64_t memory_bytes, bool force) {
  require(host_memory_excess(plan.totals.memory_total, ranks, memory_bytes), force);
}

}  // namespace shardscope
