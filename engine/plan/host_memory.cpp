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

// The ranks of the host that needs most.
RankRange host_with_most(const Plan& plan, std::span<const int64_t> checkpoint_bytes) {
  const auto needed = [&](const RankRange& ranks) {
    return plan.totals.memory_total * ranks.count + ranks.sum(checkpoint_bytes);
  };
  RankRange most, next;
  for (int count : plan.ranks_per_host) {
    next = {next.first + next.count, count};
    if (needed(next) > needed(most)) most = next;
  }
  return most;
}

void require(std::optional<Error> excess, bool force) {
  if (!excess || force) return;
  excess->hint += fmt::format("; {}", force_hint);
  throw Failure(std::move(*excess));
}

}  // namespace

int64_t RankRange::sum(std::span<const int64_t> by_rank) const {
  int64_t all = 0;
  for (int rank = first; rank < first + count && rank < std::ssize(by_rank); ++rank) all += by_rank[rank];
  return all;
}

std::optional<Error> host_memory_excess(int64_t rank_bytes, int ranks, int64_t memory_bytes, int64_t checkpoint_bytes) {
  const int64_t all = rank_bytes * ranks + checkpoint_bytes;
  const std::string part =
      checkpoint_bytes > 0 ? fmt::format(", {} of it for checkpoints", bytes_text(double(checkpoint_bytes))) : "";
  return excess(all, memory_bytes, [&](const std::string& needed, const std::string& available) {
    return fmt::format("the ranks need {} together{}, the host has {}", needed, part, available);
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

void require_host_memory(const Plan& plan, bool force, std::span<const int64_t> checkpoint_bytes) {
  if (plan.machine.device.kind != DeviceKind::host_cores) return require(host_memory_excess(plan), force);
  const RankRange ranks = host_with_most(plan, checkpoint_bytes);
  require_host_memory(plan, ranks, plan.machine.device.memory_bytes, force, checkpoint_bytes);
}

void require_host_memory(const Plan& plan, RankRange ranks, int64_t memory_bytes, bool force,
                         std::span<const int64_t> checkpoint_bytes) {
  require(host_memory_excess(plan.totals.memory_total, ranks.count, memory_bytes, ranks.sum(checkpoint_bytes)), force);
}

}  // namespace shardscope
