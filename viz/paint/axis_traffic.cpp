#include "viz/paint/axis_traffic.h"

#include <algorithm>
#include <map>

#include "engine/machine/machine_prices.h"
#include "engine/plan/hidden_transfers.h"
#include "engine/plan/message_seconds.h"

namespace shardscope {

namespace {

using AxisNumbers = std::vector<AxisIndex>;

// `messages`: seconds of each channel's.
std::map<AxisNumbers, AxisTraffic> traffic_of_stage(const Plan& plan, int stage, const std::vector<double>& messages) {
  std::map<AxisNumbers, AxisTraffic> traffic;
  const SequenceInstructions instructions = plan.instructions(stage);
  for (const auto& [position, runs] : distinct_instructions(plan.program.main(stage))) {
    const Instruction& instruction = instructions[position];
    AxisList axes;
    double seconds = plan.seconds(position, stage);
    if (const CollectiveStart* start = instruction.as<CollectiveStart>()) {
      axes = start->axes;
    } else if (const Send* send = instruction.as<Send>()) {
      axes.push_back(*plan.pipeline.axis);
      seconds = messages[static_cast<size_t>(send->channel)];
    } else {
      continue;
    }
    AxisTraffic& sum = traffic[AxisNumbers(axes.begin(), axes.end())];
    sum.axes = axes;
    sum.exchanges += runs;
    sum.wire_bytes += runs * instruction.wire_bytes();
    sum.seconds += runs * (seconds + hidden_behind_passes(plan, stage, position));
  }
  return traffic;
}

}  // namespace

std::vector<AxisTraffic> axis_traffic(const Plan& plan) {
  std::map<AxisNumbers, AxisTraffic> most;
  const std::vector<double> messages = message_seconds(plan);
  for (int stage = 0; stage < plan.program.stages; ++stage)
    for (const auto& [axes, traffic] : traffic_of_stage(plan, stage, messages)) {
      AxisTraffic& sum = most[axes];
      if (sum.exchanges == 0 || traffic.seconds > sum.seconds) sum = traffic;
    }
  const MachinePrices prices(plan.machine, plan.mesh.device_count());
  std::vector<AxisTraffic> list;
  for (auto& [axes, traffic] : most) {
    traffic.level = prices.place(plan.mesh, axes).level();
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
