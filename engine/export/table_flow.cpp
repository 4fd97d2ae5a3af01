#include "engine/export/plan_words.h"
#include "engine/export/table_pages.h"

namespace shardscope {

namespace {

// Each instruction of the program once, with how often it happens and what goes in and comes out.
void write_flow_table(const ExportSource& source, const ExportChoice&, TableWriter& table) {
  const Plan& plan = *source.plan;
  table.headings({"stage", "position", "task", "phase", "kind", "step", "axes", "inputs", "outputs", "flops",
                  "bytes_touched", "wire_bytes", "count", "predicted_seconds", "cause"});
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const SequenceInstructions steps = plan.instructions(stage);
    for (const auto& [position, count] : distinct_instructions(plan.program.main(stage))) {
      const Instruction& instruction = steps[position];
      table.progress(stage + position / static_cast<double>(steps.size()), plan.program.stages);
      if (instruction.as<CollectiveDone>()) continue;
      table.row(stage, position, steps.task(position).name, name(instruction.phase), name(instruction.kind()),
                plan.instruction_name(instruction), axes_text(plan, instruction),
                values_text(plan, instruction.operands()), values_text(plan, instruction.destinations()),
                instruction.flops(), instruction.bytes_touched(), instruction.wire_bytes(), count,
                plan.seconds(position, stage), plan.cause(instruction));
    }
  }
}

}  // namespace

TablePage flow_table() { return {"flow", write_flow_table}; }

}  // namespace shardscope
