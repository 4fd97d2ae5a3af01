#include <cmath>

#include "engine/export/measured_steps.h"
#include "engine/export/plan_words.h"
#include "engine/export/table_pages.h"
#include "engine/plan/hidden_transfers.h"
#include "engine/plan/host_groups.h"

namespace shardscope {

namespace {

// Each collective and send once, with how often it happens in a step: the sum of wire_bytes x count over a stage is
// what its devices send, those aside to which permutes give nothing to send. With a recorded step what its ranks
// measured, on average: the time from the start of the transfer to its end, and the waiting before it.
void write_collectives_table(const ExportSource& source, const ExportChoice& choice, TableWriter& table) {
  const Plan& plan = *source.plan;
  const MeasuredSteps measured(plan, trace_of(source, choice.trace));
  std::vector<std::string> headings = {"stage",         "position", "kind",  "axes",   "group_size",
                                       "hosts",         "phase",    "op",    "arrays", "payload_bytes",
                                       "wire_bytes",    "count",    "cause", "task",   "predicted_seconds",
                                       "hidden_seconds"};
  if (source.run) headings.insert(headings.end(), {"measured_seconds", "waited_seconds"});
  table.headings(headings);
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const SequenceInstructions steps = plan.instructions(stage);
    for (const auto& [position, count] : distinct_instructions(plan.program.main(stage))) {
      const Instruction& instruction = steps[position];
      table.progress(stage + position / static_cast<double>(steps.size()), plan.program.stages);
      if (!is_collective(instruction.kind()) && instruction.kind() != InstructionKind::send) continue;
      table.add(stage);
      table.add(position);
      table.add(name(instruction.kind()));
      table.add(axes_text(plan, instruction));
      table.add(instruction.group_size());
      table.add(hosts_of_group(plan, instruction));
      table.add(name(instruction.phase));
      table.add(op_text(plan, instruction));
      table.add(values_text(plan, instruction.operands()));
      table.add(instruction.payload_bytes());
      table.add(instruction.wire_bytes());
      table.add(count);
      table.add(plan.cause(instruction));
      table.add(steps.task(position).name);
      table.add(plan.seconds(position, stage));
      table.add(hidden_behind_passes(plan, stage, position));
      if (source.run) {
        const std::optional<StepMean> own = measured.of(steps.id(position), stage);
        for (double number : {own ? own->seconds : std::nan(""), own ? own->waited_seconds : std::nan("")})
          table.add(number);
      }
      table.end_row();
    }
  }
}

}  // namespace

TablePage collectives_table() { return {"collectives", write_collectives_table, true}; }

}  // namespace shardscope
