#include "engine/export/stage_messages.h"

#include <algorithm>

namespace shardscope {

namespace {

// By channel, the positions at which a stage sends or receives.
std::vector<std::vector<int>> positions_of(const Plan& plan, InstructionKind kind, int StageChannel::*end) {
  std::vector<std::vector<int>> positions(plan.program.channels.size());
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    int position = 0;
    for (const Instruction& instruction : plan.instructions(stage)) {
      const bool is_one =
          instruction.kind() == kind && plan.program.channels[static_cast<size_t>(instruction.channel())].*end == stage;
      if (is_one) positions[static_cast<size_t>(instruction.channel())].push_back(position);
      ++position;
    }
  }
  return positions;
}

}  // namespace

std::vector<StageMessage> stage_messages(const Plan& plan) {
  const auto sends = positions_of(plan, InstructionKind::send, &StageChannel::from);
  const auto receives = positions_of(plan, InstructionKind::receive, &StageChannel::to);
  std::vector<StageMessage> messages;
  for (size_t channel = 0; channel < sends.size(); ++channel) {
    const StageChannel& ends = plan.program.channels[channel];
    for (size_t i = 0; i < std::min(sends[channel].size(), receives[channel].size()); ++i)
      messages.push_back({ends.from, ends.to, sends[channel][i], receives[channel][i]});
  }
  return messages;
}

int peer_in_stage(const Plan& plan, int device, int to) {
  const std::vector<AxisIndex> along{*plan.pipeline.axis};
  return plan.mesh.group(device, along)[static_cast<size_t>(to)];
}

}  // namespace shardscope
