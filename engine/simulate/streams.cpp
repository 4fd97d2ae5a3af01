#include "engine/simulate/streams.h"

#include <algorithm>

namespace shardscope {

int Streams::of(const Program& program, const CollectiveStart& start) const {
  if (of_group.empty()) return 1;
  const auto group = std::ranges::find(program.groups, start.axes);
  return of_group[static_cast<size_t>(group - program.groups.begin())];
}

std::optional<Streams::Slowdown> Streams::find(int first, int second) const {
  return joined.empty() ? std::nullopt : joined[static_cast<size_t>(first)][static_cast<size_t>(second)];
}

bool Streams::may_hide_communication() const {
  return std::ranges::any_of(of_group, [&](int stream) { return find(compute, stream).has_value(); });
}

Streams streams_on(const Machine& machine, std::span<const int> levels, const std::vector<bool>& blocking) {
  Streams streams;
  streams.issue_seconds = machine.device.host_seconds();
  streams.shares_cores = machine.device.kind == DeviceKind::host_cores;
  streams.names = {"compute"};
  for (const Level& level : machine.levels) streams.names.push_back(level.name);
  for (int level : levels) streams.of_group.push_back(std::max(level, 0) + 1);
  if (machine.levels.empty()) streams.names.push_back("communication");
  if (std::ranges::find(blocking, true) != blocking.end()) {
    for (size_t group = 0; group < blocking.size(); ++group) {
      if (blocking[group]) streams.of_group[group] = static_cast<int>(streams.names.size());
    }
    streams.names.push_back("blocking communication");
  }
  for (const std::string& first : streams.names) {
    auto& row = streams.joined.emplace_back();
    for (const std::string& second : streams.names) {
      const std::optional<OverlapRule> rule = find_overlap(machine, first, second);
      row.push_back(rule ? std::optional(Streams::Slowdown{rule->slowdown, rule->beside_slowdown}) : std::nullopt);
    }
  }
  return streams;
}

}  // namespace shardscope
