#include "engine/machine/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>

#include "engine/base/error.h"
#include "engine/base/plural.h"

namespace shardscope {

namespace {

// The unit of each device on a level, from those on the level below (ascending).
std::vector<int> join_units(const std::vector<int>& below, const std::vector<int>& count) {
  if (count.empty()) return std::vector<int>(below.size(), 0);
  std::vector<int> units(below.size());
  int64_t unit = 0, end = count[0];
  for (size_t device = 0; device < below.size(); ++device) {
    while (below[device] >= end) {
      ++unit;
      end += count.size() == 1 ? count[0] : count.at(static_cast<size_t>(unit));
    }
    units[device] = static_cast<int>(unit);
  }
  return units;
}

}  // namespace

std::optional<int64_t> device_limit(const std::vector<Level>& levels) {
  std::optional<int64_t> units = 1;
  for (const Level& level : levels | std::views::reverse) {
    if (level.count.empty()) {
      units.reset();
    } else if (level.count.size() == 1) {
      if (units) *units *= level.count[0];
    } else {
      const auto known = static_cast<int64_t>(level.count.size());
      units =
          std::reduce(level.count.begin(), level.count.begin() + std::min(units.value_or(known), known), int64_t{0});
    }
  }
  return units;
}

Topology::Topology(const std::vector<Level>& levels, int devices) : device_count_(devices) {
  const std::optional<int64_t> limit = device_limit(levels);
  if (limit && devices > *limit)
    throw Failure(Error{"device_count",
                        fmt::format("the machine has {}, the mesh {}", counted(*limit, "device"), devices), "machine",
                        fmt::format("a mesh of at most {}, or a machine whose levels count more", *limit)});
  std::vector<int> units(static_cast<size_t>(devices));
  std::iota(units.begin(), units.end(), 0);
  for (const Level& level : levels) {
    units = join_units(units, level.count);
    units_.push_back(units);
  }
}

std::vector<int> Topology::unit_sizes(int level) const {
  std::vector<int> sizes;
  for (int device = 0; device < device_count_; ++device) {
    const auto number = static_cast<size_t>(unit(level, device));
    if (number >= sizes.size()) sizes.resize(number + 1);
    ++sizes[number];
  }
  return sizes;
}

int Topology::level_of(std::span<const int> members) const {
  for (int level = level_count() - 1; level >= 0; --level) {
    for (int member : members) {
      if (unit(level - 1, member) != unit(level - 1, members[0])) return level;
    }
  }
  return -1;
}

std::vector<int> ranks_per_host(const Machine& machine, const Topology& topology) {
  for (int level = topology.level_count() - 1; level >= 0; --level) {
    if (machine.levels[static_cast<size_t>(level)].kind == LevelKind::shared_memory) return topology.unit_sizes(level);
  }
  return {topology.device_count()};
}

int ranks_on_host(const Machine& machine, const Topology& topology) {
  return std::ranges::max(ranks_per_host(machine, topology));
}

double share_of_rank(const Device& device, int ranks_on_host) {
  return device.kind == DeviceKind::host_cores ? static_cast<double>(device.cores) / ranks_on_host : 1;
}

int threads_per_rank(const Machine& machine, const Topology& topology) {
  if (machine.device.kind == DeviceKind::own) return 1;
  return std::max(1, machine.device.cores / ranks_on_host(machine, topology));
}

}  // namespace shardscope
