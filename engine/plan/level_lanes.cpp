#include "engine/plan/level_lanes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "engine/machine/topology.h"

namespace shardscope {
namespace {

using Parts = std::vector<TransferPart>;

// `waits`: of the stage for collectives, in order.
void add_parts(const TransferSpan& transfer, std::span<const TimeSpan> waits, Parts& parts) {
  const auto& [position, stream, span] = transfer;
  double at = span.start;
  const auto add = [&](double end, bool is_exposed) {
    if (end > at) parts.push_back({position, is_exposed, {at, end}});
    at = std::max(at, end);
  };
  for (auto wait = std::ranges::upper_bound(waits, at, {}, &TimeSpan::end); wait != waits.end(); ++wait) {
    if (wait->start >= span.end) break;
    add(wait->start, false);
    add(std::min(wait->end, span.end), true);
  }
  add(span.end, false);
}

bool has_lanes(const Plan& plan, int stage) {
  const bool own_devices = plan.machine.device.kind == DeviceKind::own && !plan.machine.levels.empty();
  return own_devices || plan.simulation.communication.at(static_cast<size_t>(stage)).hidden > 0;
}

// The levels that the members of groups of a stage differ in.
class StageLevels {
 public:
  StageLevels(const Plan& plan, int stage, const Topology& topology)
      : plan_(plan),
        topology_(topology),
        steps_(plan.instructions(stage)),
        device_(plan.devices_of_stage(stage).front()) {}

  int of(int position) {  // of a collective's start; -1: none
    const AxisList& list = steps_[position].axes();
    const std::vector<AxisIndex> axes(list.begin(), list.end());
    const auto [level, is_new] = known_.try_emplace(axes, 0);
    if (is_new) level->second = topology_.level_of(plan_.mesh.group(device_, axes));
    return level->second;
  }
  std::string name(int level, const std::string& otherwise) const {
    return level < 0 ? otherwise : plan_.machine.levels[static_cast<size_t>(level)].name;
  }

 private:
  const Plan& plan_;
  const Topology& topology_;
  SequenceInstructions steps_;
  int device_;
  std::map<std::vector<AxisIndex>, int> known_;
};

double start_of(const TransferPart& part) { return part.span.start; }

// Nothing where any two of them are at the same time.
std::optional<Parts> merged(const Parts& a, const Parts& b) {
  constexpr double rounding = 1e-12;
  Parts both;
  std::ranges::merge(a, b, std::back_inserter(both), {}, start_of, start_of);
  for (size_t i = 1; i < both.size(); ++i)
    if (both[i].span.start < both[i - 1].span.end * (1 - rounding)) return std::nullopt;
  return both;
}

// Of a step: a lane with less of it would look empty.
constexpr double least_share_of_lane = 1e-5;

double seconds_of(const Parts& parts) {
  double seconds = 0;
  for (const TransferPart& part : parts) seconds += part.span.end - part.span.start;
  return seconds;
}

std::vector<TimeSpan> waits_of(const Plan& plan, int stage) {
  std::vector<TimeSpan> waits;
  auto span = plan.simulation.stages.at(static_cast<size_t>(stage)).begin();
  for (const Instruction& instruction : plan.instructions(stage)) {
    if (instruction.as<CollectiveDone>()) waits.push_back(*span);
    ++span;
  }
  return waits;
}

// By stream and level; what is hidden behind passes behind the others of its level.
std::vector<LevelLane> lanes_of(const Plan& plan, int stage, const Topology& topology,
                                std::span<const HiddenTransfer> behind_passes) {
  StageLevels levels(plan, stage, topology);
  const std::vector<TimeSpan> waits = waits_of(plan, stage);
  const int behind = static_cast<int>(plan.simulation.streams.size());
  std::map<std::pair<int, int>, Parts> parts;
  for (const TransferSpan& transfer : plan.simulation.transfers.at(static_cast<size_t>(stage)))
    add_parts(transfer, waits, parts[{levels.of(transfer.position), transfer.stream}]);
  for (const auto& [position, of_parameters, span] : behind_passes)
    parts[{levels.of(position), behind}].push_back({position, false, span});
  for (auto& [key, of_lane] : parts) {
    const int level = key.first;
    if (key.second == behind || level < 0 || !parts.contains({level, behind})) continue;
    if (plan.simulation.streams[static_cast<size_t>(key.second)] != levels.name(level, "")) continue;
    if (std::optional<Parts> both = merged(of_lane, parts.at({level, behind})))
      std::tie(of_lane, parts.at({level, behind})) = std::pair(std::move(*both), Parts());
  }
  std::vector<LevelLane> lanes;
  for (auto& [key, of_lane] : parts) {
    const auto& [level, stream] = key;
    if (stream == behind) {
      if (seconds_of(of_lane) > least_share_of_lane * plan.simulation.seconds)
        lanes.push_back({levels.name(level, "links") + " (behind passes)", true, std::move(of_lane)});
      continue;
    }
    const std::string& name = plan.simulation.streams[static_cast<size_t>(stream)];
    const std::string of_level = levels.name(level, name);
    lanes.push_back({of_level == name ? name : of_level + " (blocking)", false, std::move(of_lane)});
  }
  return lanes;
}

}  // namespace

std::vector<StageLanes> level_lanes(const Plan& plan) {
  std::optional<Topology> topology;
  std::vector<StageLanes> stages(static_cast<size_t>(plan.program.stages));
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    StageLanes& of_stage = stages[static_cast<size_t>(stage)];
    of_stage.behind_passes = transfers_behind_passes(plan, stage);
    if (!has_lanes(plan, stage)) continue;
    if (!topology) topology.emplace(plan.machine.levels, plan.mesh.device_count());
    of_stage.lanes = lanes_of(plan, stage, *topology, of_stage.behind_passes);
  }
  return stages;
}

}  // namespace shardscope
