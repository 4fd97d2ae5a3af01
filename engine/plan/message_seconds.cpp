#include "engine/plan/message_seconds.h"

namespace shardscope {

std::vector<double> message_seconds(const Plan& plan) {
  std::vector<double> seconds(plan.program.channels.size());
  for (size_t task = 0; task < plan.program.tasks.size(); ++task) {
    const std::vector<Instruction>& instructions = plan.program.tasks[task].instructions;
    for (size_t i = 0; i < instructions.size(); ++i) {
      if (const Receive* receive = instructions[i].as<Receive>())
        seconds[static_cast<size_t>(receive->channel)] = plan.instruction_seconds.tasks[task][i];
    }
  }
  return seconds;
}

}  // namespace shardscope
