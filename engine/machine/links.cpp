#include "engine/machine/links.h"

#include <algorithm>
#include <array>

namespace shardscope {

std::vector<double> link_rates(const Machine& machine, const Topology& topology) {
  std::vector<double> rates;
  for (const Level& level : machine.levels) {
    const double cores = static_cast<double>(machine.device.cores) / ranks_on_host(machine, topology);
    rates.push_back(level.bytes_per_second * (level.shared_by == Level::host_cores ? cores : 1));
  }
  return rates;
}

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

TransferRate transfer_rate(const std::vector<Level>& levels, const Topology& topology,
                           std::span<const double> link_rates, std::span<const std::pair<int, int>> transfers) {
  struct Load {
    int level;
    int out, in;  // links
  };
  std::vector<Load> loads;
  std::vector<std::vector<int>> links(levels.size()), out(levels.size()), in(levels.size());
  for (const auto& [from, to] : transfers) {
    const int level = topology.level_of(std::array{from, to});
    if (level < 0) continue;
    const auto l = static_cast<size_t>(level);
    if (links[l].empty()) {
      links[l] = link_numbers(levels[l], level, topology);
      out[l].resize(links[l].size());
      in[l].resize(links[l].size());
    }
    const Load& load =
        loads.emplace_back(Load{level, links[l][static_cast<size_t>(from)], links[l][static_cast<size_t>(to)]});
    ++out[l][static_cast<size_t>(load.out)];
    ++in[l][static_cast<size_t>(load.in)];
  }
  TransferRate slowest;
  for (const Load& load : loads) {
    const auto l = static_cast<size_t>(load.level);
    const int sharing = std::max(out[l][static_cast<size_t>(load.out)], in[l][static_cast<size_t>(load.in)]);
    slowest.latency = std::max(slowest.latency, levels[l].latency);
    slowest.seconds_per_byte = std::max(slowest.seconds_per_byte, sharing / link_rates[l]);
  }
  return slowest;
}

}  // namespace shardscope
