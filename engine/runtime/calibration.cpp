#include "engine/runtime/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/machine/host_machine.h"
#include "engine/runtime/collective_rates.h"
#include "engine/runtime/kernel_rates.h"

namespace shardscope {

namespace {

// Without the instruction's latency, which is at most half of it.
double own_seconds(const Timing& time, double latency) { return std::max(time.seconds - latency, time.seconds / 2); }

void set_product_rates(Device& device, const Measurements& measured) {
  const auto rate_of = [&](const ProductTiming& product) {
    const double flops =
        2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k);
    return flops / own_seconds(product.time, device.instruction_latency);
  };
  for (Precision precision : {Precision::f32, Precision::bf16}) {
    ProductRate rate;
    std::vector<Timing> times;
    for (const ProductTiming& product : measured.products) {
      if (product.precision != precision) continue;
      rate.flops_per_second = std::max(rate.flops_per_second, rate_of(product));
      times.push_back(product.time);
    }
    if (times.empty()) continue;
    for (const ProductTiming& product : measured.products) {
      if (product.precision != precision) continue;
      (product.transposed_left ? rate.transposed_left : rate.efficiency)
          .push_back({product.m, product.n, product.k, rate_of(product) / rate.flops_per_second, ""});
    }
    rate.source = source_text(measured, times);
    device.products[precision] = rate;
  }
}

void set_memory_levels(Device& device, const Measurements& measured) {
  if (measured.memory.empty()) return;
  device.memory.clear();
  for (const MemoryTiming& level : measured.memory) {
    const double of_core = level.bytes / own_seconds(level.time, device.instruction_latency);
    const double rate = level.shared ? of_core * measured.cores : of_core;
    device.memory.push_back(
        {level.level, level.capacity_bytes, rate, level.shared, source_text(measured, std::span(&level.time, 1))});
  }
}

}  // namespace

Machine machine_of(const Measurements& measured) {
  Machine machine = standard_host();
  machine.name = fmt::format("calibrated {}-core host", measured.cores);
  machine.source = source_text(
      measured, fmt::format("measured while other work used {:.0f} % of the cores", 100 * measured.other_work));
  Device& device = machine.device;
  device.cores = measured.cores;
  device.bf16_products = measured.bf16_products;
  device.instruction_latency = measured.instruction.seconds;
  device.source = "instruction_latency: " + source_text(measured, std::span(&measured.instruction, 1));
  set_memory_levels(device, measured);
  set_product_rates(device, measured);
  set_kernel_rates(machine, measured);
  set_collective_rates(machine, measured);
  return machine;
}

bool is_disturbed(const Measurements& measured) { return measured.other_work > most_other_work; }

std::string source_text(const Measurements& measured, std::span<const Timing> times) {
  std::vector<double> spreads;
  for (const Timing& time : times) spreads.push_back(100 * time.spread);
  std::ranges::sort(spreads);
  const auto [fewest, most] = std::ranges::minmax(times, {}, &Timing::repetitions);
  if (times.size() == 1) {
    return source_text(measured, fmt::format("{} repetitions, spread {:.0f} %", fewest.repetitions, spreads[0]));
  }
  return source_text(measured,
                     fmt::format("{} timings, {} to {} repetitions, spread {:.0f} % (at most {:.0f} %)", times.size(),
                                 fewest.repetitions, most.repetitions, spreads[spreads.size() / 2], spreads.back()));
}

std::string source_text(const Measurements& measured, const std::string& note) { return measured.date + ", " + note; }

}  // namespace shardscope
