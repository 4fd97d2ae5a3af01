#include "viz/paint/axis_traffic.h"

#include <algorithm>
#include <map>

#include "engine/machine/group_placement.h"

namespace shardscope {

namespace {

using AxisNumbers = std::vector<AxisIndex>;

void add(AxisTraffic& sum, const Instruction& instruction, double seconds) {
  ++sum.exchanges;
  sum.wire_bytes += instruction.wire_bytes();
  sum.seconds += seconds;
}

std::map<AxisNumbers, AxisTraffic> traffic_of_stage(const Plan& plan, int stage) {
  std::map<AxisNumbers, AxisTraffic> traffic;
  const SequenceInstructions instructions = plan.instructions(stage);
  for (int position = 0; position < instructions.size(); ++position) {
    const Instruction& instruction = instructions[position];
    AxisList axes;
    if (const CollectiveStart* start = instruction.as<CollectiveStart>()) axes = start->axes;
    else if (instruction.as<Send>()) axes.push_back(*plan.pipeline.axis);
    else continue;
    AxisTraffic& sum = traffic[AxisNumbers(axes.begin(), axes.end())];
    sum.axes = axes;
    add(sum, instruction, plan.seconds(position, stage));
  }
  return traffic;
}

}  // namespace

std::vector<AxisTraffic> axis_traffic(const Plan& plan, const Topology& topology) {
  std::map<AxisNumbers, AxisTraffic> most;
  for (int stage = 0; stage < plan.program.stages; ++stage)
    for (const auto& [axes, traffic] : traffic_of_stage(plan, stage)) {
      AxisTraffic& sum = most[axes];
      if (sum.exchanges == 0 || traffic.seconds > sum.seconds) sum = traffic;
    }
  std::vector<AxisTraffic> list;
  for (auto& [axes, traffic] : most) {
    for (const std::vector<int>& group : groups_over(plan.mesh, axes))
      traffic.level = std::max(traffic.level, topology.level_of(group));
    list.push_back(traffic);
  }
  std::ranges::stable_sort(list, std::greater(), &AxisTraffic::seconds);
  return list;
}

std::optional<SlowTraffic> slow_traffic(const std::vector<AxisTraffic>& traffic, const Machine& machine) {
  const auto rate = [&](const AxisTraffic& one) {
    return one.level < 0 ? 0 : machine.levels[static_cast<size_t>(one.level)].bytes_per_second;
  };
  std::optional<SlowTraffic> found;
  for (int slow = 0; slow < std::ssize(traffic); ++slow)
    for (int fast = 0; fast < std::ssize(traffic); ++fast) {
      const AxisTraffic &one = traffic[static_cast<size_t>(slow)], &other = traffic[static_cast<size_t>(fast)];
      if (one.level <= other.level || 2 * rate(one) >= rate(other) || one.wire_bytes <= other.wire_bytes) continue;
      if (!found || one.wire_bytes > traffic[static_cast<size_t>(found->slow)].wire_bytes)
        found = SlowTraffic{slow, fast};
    }
  return found;
}

}  // namespace shardscope
