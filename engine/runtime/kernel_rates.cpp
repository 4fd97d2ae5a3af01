#include "engine/runtime/kernel_rates.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/machine/machine_prices.h"
#include "engine/runtime/calibration.h"

namespace shardscope {

namespace {

struct Sample {
  double bytes = 0, flops = 0;
  double bytes_seconds = 0;  // what the bytes alone would take
  double seconds = 0;        // without the latency
};
using Samples = std::vector<Sample>;

template <class Value>
double geometric_mean(const Samples& samples, Value&& value) {
  double sum = 0;
  for (const Sample& sample : samples) sum += std::log(value(sample));
  return std::exp(sum / static_cast<double>(samples.size()));
}

KernelRate rate_of(const std::map<Precision, Samples>& samples) {
  constexpr double tolerance = 1.1, least_share_of_bytes = 0.25;
  KernelRate rate;
  const Samples& first = samples.begin()->second;
  const auto bytes_share = [](const Sample& sample) { return sample.bytes_seconds / sample.seconds; };
  if (first[0].flops == 0) {
    rate.efficiency = std::min(1.0, geometric_mean(first, bytes_share));
    return rate;
  }
  const Sample& small = *std::ranges::min_element(first, {}, &Sample::bytes);
  const Sample& large = *std::ranges::max_element(first, {}, &Sample::bytes);
  const bool is_computing = large.seconds <= tolerance * small.seconds * large.flops / small.flops ||
                            bytes_share(large) < least_share_of_bytes;
  if (!is_computing) rate.efficiency = std::min(1.0, bytes_share(large));
  for (const auto& [precision, all] : samples) {
    Samples deciding = all;
    if (!is_computing) deciding = {*std::ranges::min_element(all, {}, &Sample::bytes)};
    rate.flops_per_second[precision] =
        geometric_mean(deciding, [&](const Sample& sample) { return sample.flops / sample.seconds / rate.efficiency; });
  }
  return rate;
}

}  // namespace

void set_kernel_rates(Machine& machine, const Measurements& measured) {
  struct Family {
    std::map<Precision, Samples> samples;
    std::vector<Timing> times;
  };
  machine.device.kernels.clear();
  const double latency = machine.device.instruction_latency;
  const MachinePrices one_core_each(machine, measured.cores);
  std::map<std::string, Family> families;
  for (const KernelTiming& kernel : measured.kernels) {
    if (kernel.time.seconds < 2 * latency) continue;
    Family& family = families[kernel.family];
    family.samples[kernel.precision].push_back({kernel.bytes, kernel.flops,
                                                one_core_each.local_seconds("", kernel.bytes) - latency,
                                                kernel.time.seconds - latency});
    family.times.push_back(kernel.time);
  }
  for (const auto& [name, family] : families) {
    KernelRate& rate = machine.device.kernels[name] = rate_of(family.samples);
    rate.source = source_text(measured, family.times);
  }
}

}  // namespace shardscope
