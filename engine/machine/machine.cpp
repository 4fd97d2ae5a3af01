#include "engine/machine/machine.h"

#include <algorithm>
#include <array>

#include "engine/base/enum_count.h"

namespace shardscope {

std::string_view name(DeviceKind kind) {
  static constexpr std::array<std::string_view, 2> names = {"own", "host_cores"};
  static_assert(names.size() == enum_count<DeviceKind>);
  return names[static_cast<size_t>(kind)];
}

std::string_view name(LevelKind kind) {
  static constexpr std::array<std::string_view, 4> names = {"ring", "torus", "switch", "shared_memory"};
  static_assert(names.size() == enum_count<LevelKind>);
  return names[static_cast<size_t>(kind)];
}

std::string_view name(Algorithm algorithm) {
  static constexpr std::array<std::string_view, 4> names = {"ring", "tree", "hierarchical", "direct"};
  static_assert(names.size() == enum_count<Algorithm>);
  return names[static_cast<size_t>(algorithm)];
}

std::optional<OverlapRule> find_overlap(const Machine& machine, const std::string& stream, const std::string& beside) {
  for (OverlapRule rule : machine.overlap) {
    if (rule.stream == stream && rule.beside == beside) return rule;
    if (rule.stream != beside || rule.beside != stream) continue;
    std::swap(rule.stream, rule.beside);
    std::swap(rule.slowdown, rule.beside_slowdown);
    return rule;
  }
  return std::nullopt;
}

const ProductRate* find_products(const Device& device, Precision precision) {
  for (Precision substitute : substitutes(precision)) {
    if (auto rate = device.products.find(substitute); rate != device.products.end()) return &rate->second;
  }
  return nullptr;
}

Machine with_hosts(Machine machine, const std::vector<int>& ranks_per_host) {
  if (ranks_per_host.empty()) return machine;
  const auto host = std::find_if(machine.levels.rbegin(), machine.levels.rend(),
                                 [](const Level& level) { return level.kind == LevelKind::shared_memory; });
  if (host == machine.levels.rend()) return machine;
  host->count = ranks_per_host;
  if (ranks_per_host.size() < 2 || host != machine.levels.rbegin()) return machine;
  Level network;
  network.name = network_name;
  network.bytes_per_second = 1.25e9;
  network.latency = 50e-6;
  network.shared_by = Level::whole_unit;
  machine.levels.push_back(network);
  machine.overlap.emplace_back().beside = network.name;
  return machine;
}

}  // namespace shardscope
