#include "engine/machine/collective_seconds.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "engine/base/error.h"

namespace shardscope {

namespace {

double rounds_of(const LevelTraffic& level) {
  return static_cast<double>(std::min<int64_t>(std::bit_width(static_cast<uint64_t>(level.units - 1)), level.messages));
}

double bytes_seconds(InstructionKind collective, double payload, const GroupPlacement& groups) {
  double all_to_all = 0, slowest = 0;
  for (const LevelTraffic& level : groups.levels) {
    all_to_all += level.all_to_all;
    slowest = std::max(slowest, collective == InstructionKind::collective_permute ? level.one_way : level.ring);
  }
  if (collective == InstructionKind::all_to_all) return payload * all_to_all;
  return wire_bytes(collective, payload, groups.size) * slowest;
}

double hierarchical_seconds(InstructionKind collective, double payload, const GroupPlacement& groups,
                            double efficiency) {
  const bool is_exchange = collective == InstructionKind::all_to_all;
  double seconds = 0;
  for (const LevelTraffic& level : groups.levels) {
    const auto units = static_cast<double>(level.units);
    const double of_a_byte = is_exchange ? level.exchange : (units - 1) / units * level.shared;
    seconds += static_cast<double>(level.messages) * level.latency + payload * of_a_byte / efficiency;
  }
  return collective == InstructionKind::all_reduce ? 2 * seconds : seconds;
}

bool speaks_of(const CollectiveRule& rule, InstructionKind collective, const std::string& level) {
  return (!rule.collective || *rule.collective == collective) && (rule.level.empty() || rule.level == level);
}

}  // namespace

CollectiveRule standard_rule(InstructionKind collective, const Level& level, const Machine& machine) {
  CollectiveRule rule;
  if (level.kind == LevelKind::shared_memory) rule.algorithm = Algorithm::direct;
  else if (machine.device.kind == DeviceKind::host_cores && collective != InstructionKind::all_to_all)
    rule.algorithm = Algorithm::hierarchical;
  return rule;
}

double wire_bytes(InstructionKind collective, double payload, int64_t members) {
  if (collective == InstructionKind::collective_permute) return members > 1 ? payload : 0;
  const auto p = static_cast<double>(members);
  return (collective == InstructionKind::all_reduce ? 2 : 1) * (p - 1) / p * payload;
}

double collective_seconds(InstructionKind collective, double payload, const GroupPlacement& groups,
                          const CollectiveRule& rule) {
  if (groups.levels.empty()) return 0;
  const double call = rule.latency + static_cast<double>(groups.size) * rule.latency_per_member;
  const bool is_permute = collective == InstructionKind::collective_permute;
  if (rule.algorithm == Algorithm::hierarchical && !is_permute) {
    return call + hierarchical_seconds(collective, payload, groups, rule.efficiency);
  }
  const bool is_once = rule.algorithm == Algorithm::direct || is_permute;
  const bool is_tree = rule.algorithm == Algorithm::tree && collective != InstructionKind::all_to_all;
  double latency = 0;
  for (const LevelTraffic& level : groups.levels) {
    if (is_once) latency = std::max(latency, level.latency);
    else if (!is_tree) latency += static_cast<double>(level.in_ring) * level.latency;
    else if (&level == &groups.levels.back()) latency += rounds_of(level) * level.latency;
    else latency += static_cast<double>(level.messages) * level.latency;
  }
  if (!is_once && collective == InstructionKind::all_reduce) latency *= 2;
  return call + latency + bytes_seconds(collective, payload, groups) / rule.efficiency;
}

double least_seconds_per_byte(InstructionKind collective, const GroupPlacement& groups, const Machine& machine) {
  if (groups.levels.empty()) return 0;
  GroupPlacement at_once = groups;
  for (LevelTraffic& level : at_once.levels) level.latency = 0;
  const Level& level = machine.levels[static_cast<size_t>(groups.level())];
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](CollectiveRule rule) {
    rule.latency = rule.latency_per_member = 0;
    least = std::min(least, collective_seconds(collective, 1, at_once, rule));
  };
  for (const CollectiveRule& rule : machine.collectives) {
    if (!speaks_of(rule, collective, level.name)) continue;
    consider(rule);
    if (rule.up_to_bytes == 0) return least;
  }
  consider(standard_rule(collective, level, machine));
  return least;
}

double collective_seconds(InstructionKind collective, double payload, const GroupPlacement& groups,
                          const Machine& machine) {
  if (!is_collective(collective)) {
    throw Failure(Error{"not_a_collective", std::string(name(collective)) + " is not a collective", "", ""});
  }
  if (groups.levels.empty()) return 0;
  const Level& level = machine.levels[static_cast<size_t>(groups.level())];
  double least = 0;  // what the largest payload of the rules so far takes
  int64_t end = 0;
  for (const CollectiveRule& rule : machine.collectives) {
    if (!speaks_of(rule, collective, level.name)) continue;
    const bool is_last = rule.up_to_bytes == 0;
    if (!is_last && rule.up_to_bytes <= end) continue;
    if (is_last || payload <= static_cast<double>(rule.up_to_bytes)) {
      return std::max(least, collective_seconds(collective, payload, groups, rule));
    }
    end = rule.up_to_bytes;
    least = std::max(least, collective_seconds(collective, static_cast<double>(end), groups, rule));
  }
  return std::max(least, collective_seconds(collective, payload, groups, standard_rule(collective, level, machine)));
}

}  // namespace shardscope
