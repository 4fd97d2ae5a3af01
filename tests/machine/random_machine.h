#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/machine/machine.h"

namespace shardscope::test {

// Machines that a file can say, of all kinds of devices, levels and rules, and what runs on them.
class RandomMachines {
 public:
  explicit RandomMachines(uint32_t seed) : random_(seed) {}

  Machine next() {
    Machine machine;
    machine.name = text();
    machine.source = source();
    machine.device = device();
    const int levels = below(4);
    for (int i = 0; i < levels; ++i) machine.levels.push_back(level(machine.device.kind, i, i + 1 == levels));
    const auto is_loose = [](const Level& level) {
      return level.kind != LevelKind::torus && level.kind != LevelKind::ring;
    };
    if (levels == 2 && is_loose(machine.levels[0]) && is_loose(machine.levels[1]) && below(2)) {
      machine.levels[0].count = {1 + below(4), 1 + below(4), 1 + below(4)};
      machine.levels[1].count.clear();
    }
    for (int i = below(5); i > 0; --i) machine.collectives.push_back(rule(levels));
    for (int i = below(3); i > 0; --i) {
      machine.overlap.push_back({stream(levels), stream(levels), real(1, 5), below(2) ? 1 : real(1, 5), source()});
    }
    return machine;
  }

  // How many devices a run on it may have, often all.
  int devices(const Machine& machine) {
    int units = 1;
    for (const Level& level : machine.levels) {
      if (level.count.size() > 1) return std::accumulate(level.count.begin(), level.count.end(), 0);
      units *= level.count.empty() ? 1 + below(5) : level.count[0];
    }
    return below(2) ? units : 1 + below(units);
  }

  // Disjoint groups of some of the devices.
  std::vector<std::vector<int>> groups(int devices) {
    std::vector<int> all(static_cast<size_t>(devices));
    std::iota(all.begin(), all.end(), 0);
    if (below(2)) std::shuffle(all.begin(), all.end(), random_);
    std::vector<std::vector<int>> groups;
    const bool equal = below(2) == 1;
    int size = 1 + below(devices);
    for (size_t first = 0; first < all.size(); first += static_cast<size_t>(size)) {
      if (!equal) size = 1 + below(devices);
      const size_t last = std::min(all.size(), first + static_cast<size_t>(size));
      groups.emplace_back(all.begin() + static_cast<int64_t>(first), all.begin() + static_cast<int64_t>(last));
    }
    return groups;
  }

  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  // Evenly by its logarithm.
  double real(double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random_));
  }
  int64_t size(int64_t most) { return static_cast<int64_t>(real(1, static_cast<double>(most))); }
  std::vector<ProductSample> samples() {
    std::vector<ProductSample> samples;
    for (int i = below(2) ? 0 : below(12); i > 0; --i) {
      const ProductSample sample{size(8192), size(8192), size(8192), real(0.01, 1), source()};
      const bool is_new = std::ranges::none_of(samples, [&](const ProductSample& other) {
        return other.m == sample.m && other.n == sample.n && other.k == sample.k;
      });
      if (is_new) samples.push_back(sample);
    }
    return samples;
  }

 private:
  std::string text() {
    static const char* const texts[] = {"host", "a b", "\"quoted\"", "ünï", "\\", "\n", "{}", "", "source", "null"};
    return texts[below(10)];
  }
  std::string source() { return below(4) ? "" : text(); }
  double latency() { return below(4) ? real(1e-9, 1e-3) : 0; }
  std::string level_name(int i) { return "level " + std::to_string(i); }
  std::string stream(int levels) { return below(levels + 1) == 0 ? "compute" : level_name(below(levels)); }

  Device device() {
    Device device;
    device.source = source();
    device.kind = below(2) ? DeviceKind::own : DeviceKind::host_cores;
    device.cores = 1 + below(64);
    device.memory_bytes = size(int64_t{1} << 40);
    device.instruction_latency = latency();
    device.vector_flops = below(2) ? 0 : real(1e9, 1e15);
    device.bf16_products = text();
    for (int i = 1 + below(4); i > 0; --i) {
      const int64_t capacity = i == 1 && below(2) ? 0 : size(int64_t{1} << 36);
      device.memory.push_back({text(), capacity, real(1e8, 1e13), below(2) == 1, source()});
    }
    for (Precision precision : substitutes(Precision::fp4)) {
      if (precision == Precision::f32 || below(2)) {
        device.products[precision] = {real(1e9, 1e16), samples(), samples(), source()};
      }
    }
    for (int i = below(4); i > 0; --i) {
      KernelRate& rate = device.kernels[text()];
      rate = {below(2) ? 1 : real(0.01, 1), {}, source()};
      for (int j = below(3); j > 0; --j) rate.flops_per_second[static_cast<Precision>(below(6))] = real(1e9, 1e15);
    }
    return device;
  }

  Level level(DeviceKind device, int number, bool is_last) {
    Level level;
    level.name = level_name(number);
    level.source = source();
    level.kind = static_cast<LevelKind>(below(4));
    level.wraps = below(2) == 1;
    level.bytes_per_second = real(1e8, 1e12);
    level.latency = latency();
    const bool shares_cores = device == DeviceKind::host_cores && below(3) == 0;
    level.shared_by = shares_cores ? Level::host_cores : below(5);
    if (level.kind == LevelKind::torus) {
      for (int i = 1 + below(3); i > 0; --i) level.dims.push_back(1 + below(4));
      level.count = {std::accumulate(level.dims.begin(), level.dims.end(), 1, std::multiplies<>())};
    } else if (!is_last || below(2)) {
      level.count = {1 + below(4)};
    }
    return level;
  }

  CollectiveRule rule(int levels) {
    static constexpr InstructionKind kinds[] = {InstructionKind::all_gather, InstructionKind::all_reduce,
                                                InstructionKind::reduce_scatter, InstructionKind::all_to_all,
                                                InstructionKind::collective_permute};
    CollectiveRule rule;
    if (below(2)) rule.collective = kinds[below(5)];
    if (levels > 0 && below(2)) rule.level = level_name(below(levels));
    if (below(3)) rule.up_to_bytes = size(int64_t{1} << 30);
    rule.algorithm = static_cast<Algorithm>(below(4));
    if (below(2)) rule.efficiency = real(0.1, 1);
    if (below(2)) rule.latency = latency();
    if (below(2)) rule.latency_per_member = latency();
    rule.source = source();
    return rule;
  }

  std::mt19937 random_;
};

}  // namespace shardscope::test
