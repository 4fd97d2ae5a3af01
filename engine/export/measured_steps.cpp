#include "engine/export/measured_steps.h"

namespace shardscope {

MeasuredSteps::MeasuredSteps(const Plan& plan, const TraceMessage* trace) {
  if (!trace) return;
  InstructionTable<Sum> none;
  for (const Task& task : plan.program.tasks) none.tasks.emplace_back(task.instructions.size());
  stages_.assign(static_cast<size_t>(plan.program.stages), none);
  for (int rank = 0; rank < static_cast<int>(trace->ranks.size()); ++rank) {
    const int stage = plan.stage_of(rank);
    const SequenceInstructions steps = plan.instructions(stage);
    int position = 0;
    for (const PlanStepTime& time : trace->ranks[static_cast<size_t>(rank)]) {
      const InstructionId id = steps.id(position++), whole = whole_collective(plan.program.tasks, id);
      Sum& sum = stages_[static_cast<size_t>(stage)][whole];
      sum.count += id == whole;
      sum.nanoseconds += time.end_ns - time.start_ns;
      sum.waited_nanoseconds += time.start_ns - time.arrive_ns;
    }
  }
}

std::optional<StepMean> MeasuredSteps::of(InstructionId step, int stage) const {
  if (stages_.empty()) return std::nullopt;
  const Sum& sum = stages_[static_cast<size_t>(stage)][step];
  if (sum.count == 0) return std::nullopt;
  const double times = static_cast<double>(sum.count) * 1e9;
  return StepMean{static_cast<double>(sum.nanoseconds) / times, static_cast<double>(sum.waited_nanoseconds) / times};
}

}  // namespace shardscope
