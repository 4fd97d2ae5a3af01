#include "engine/machine/links.h"

#include <algorithm>
#include <array>

namespace shardscope {

std::vector<int> link_numbers(const Level& level, int number, const Topology& topology) {
  const int owner = std::max(number - 1, 0);
  const int shared_by = level.shared_by == Level::host_cores ? 1 : level.shared_by;
  std::vector<int> links(static_cast<size_t>(topology.device_count()));
  int link = -1, unit = -1, position = 0;
  for (int device = 0; device < topology.device_count(); ++device) {
    const bool is_new_unit = topology.unit(owner, device) != unit;
    position = is_new_unit ? 0 : position + 1;
    unit = topology.unit(owner, device);
    if (is_new_unit || (shared_by != Level::whole_unit && position % shared_by == 0)) ++link;
    links[static_cast<size_t>(device)] = link;
  }
  return links;
}

std::vector<LevelLinks> links_of(const Machine& machine, const Topology& topology) {
  std::vector<LevelLinks> all;
  for (int number = 0; number < topology.level_count(); ++number) {
    const Level& level = machine.levels[static_cast<size_t>(number)];
    const double cores = share_of_rank(machine.device, ranks_on_host(machine, topology));
    const double rate = level.bytes_per_second * (level.shared_by == Level::host_cores ? cores : 1);
    const size_t below = topology.unit_sizes(number - 1).size(), here = topology.unit_sizes(number).size();
    const size_t units = (below + here - 1) / std::max<size_t>(1, here);
    all.push_back({rate, link_numbers(level, number, topology), static_cast<int>(units)});
  }
  return all;
}

TransferRate transfer_rate(const std::vector<Level>& levels, const Topology& topology,
                           std::span<const LevelLinks> links, std::span<const std::pair<int, int>> transfers) {
  struct Load {
    size_t level;
    int out, in;  // links
  };
  std::vector<Load> loads;
  std::vector<std::vector<int>> out(levels.size()), in(levels.size());
  for (const auto& [from, to] : transfers) {
    const int level = topology.level_of(std::array{from, to});
    if (level < 0) continue;
    const auto l = static_cast<size_t>(level);
    const std::vector<int>& link = links[l].of_device;
    out[l].resize(link.size());
    in[l].resize(link.size());
    const Load& load = loads.emplace_back(Load{l, link[static_cast<size_t>(from)], link[static_cast<size_t>(to)]});
    ++out[l][static_cast<size_t>(load.out)];
    ++in[l][static_cast<size_t>(load.in)];
  }
  TransferRate slowest;
  for (const Load& load : loads) {
    const int sharing =
        std::max(out[load.level][static_cast<size_t>(load.out)], in[load.level][static_cast<size_t>(load.in)]);
    slowest.latency = std::max(slowest.latency, levels[load.level].latency);
    const double rate = links[load.level].bytes_per_second * levels[load.level].message_efficiency;
    slowest.seconds_per_byte = std::max(slowest.seconds_per_byte, sharing / rate);
  }
  return slowest;
}

}  // namespace shardscope
