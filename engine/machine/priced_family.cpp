#include "engine/machine/priced_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/machine/collective_seconds.h"

namespace shardscope {

namespace {

void slow(Machine& machine, const ProductFamily& family, double times, const std::string& source) {
  const auto rate = machine.device.products.find(family.precision);
  if (rate == machine.device.products.end()) return;
  rate->second.flops_per_second /= times;
  rate->second.source = source;
}

void slow(Machine& machine, const KernelFamily& family, double times, const std::string& source) {
  KernelRate& rate = machine.device.kernels[family.name];
  const double efficiency = rate.efficiency / times;
  rate.efficiency = std::min(1.0, efficiency);
  for (auto& [precision, flops] : rate.flops_per_second) flops *= efficiency / rate.efficiency;
  rate.source = source;
}

bool speaks_of(const CollectiveRule& rule, const CollectiveFamily& family) {
  return (!rule.collective || rule.collective == family.kind) && (rule.level.empty() || rule.level == family.level);
}

// In front, so that they decide: what the rules say of this family alone.
void slow(Machine& machine, const CollectiveFamily& family, double times, const std::string& source) {
  std::vector<CollectiveRule> rules;
  std::ranges::copy_if(machine.collectives, std::back_inserter(rules),
                       [&](const CollectiveRule& rule) { return speaks_of(rule, family); });
  const auto is_last = std::ranges::find(rules, 0, &CollectiveRule::up_to_bytes);
  if (is_last != rules.end()) {
    rules.erase(is_last + 1, rules.end());
  } else {
    const auto level = std::ranges::find(machine.levels, family.level, &Level::name);
    rules.push_back(level == machine.levels.end() ? CollectiveRule() : standard_rule(family.kind, *level, machine));
  }
  for (CollectiveRule& rule : rules) {
    rule.collective = family.kind;
    rule.level = family.level;
    rule.efficiency = std::min(1.0, rule.efficiency / times);
    rule.source = source;
  }
  std::erase_if(machine.collectives, [&](const CollectiveRule& rule) {
    return rule.collective == family.kind && rule.level == family.level;
  });
  machine.collectives.insert(machine.collectives.begin(), rules.begin(), rules.end());
}

std::string text(const ProductFamily& family) { return fmt::format("matrix products in {}", name(family.precision)); }
std::string text(const KernelFamily& family) { return family.name; }
std::string text(const CollectiveFamily& family) { return fmt::format("{} over {}", name(family.kind), family.level); }

}  // namespace

std::string to_string(const PricedFamily& family) {
  return std::visit([](const auto& one) { return text(one); }, family);
}

Machine with_slower(Machine machine, const PricedFamily& family, double times, const std::string& source) {
  std::visit([&](const auto& one) { slow(machine, one, times, source); }, family);
  return machine;
}

}  // namespace shardscope
