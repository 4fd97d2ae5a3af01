#include "engine/export/plan_words.h"
#include "engine/export/table_pages.h"

namespace shardscope {

void write_flow_table(const ExportSource& source, const ExportChoice&, TableWriter& table) {
  const Plan& plan = *source.plan;
  table.headings({"stage", "position", "task", "phase", "kind", "step", "axes", "inputs", "outputs", "flops",
                  "bytes_touched", "wire_bytes", "count", "predicted_seconds", "cause"});
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const SequenceSteps steps = plan.steps(stage);
    for (const auto& [position, count] : distinct_steps(plan.program.main(stage))) {
      const Step& step = steps[position];
      table.progress(stage + position / static_cast<double>(steps.size()), plan.program.stages);
      table.row(stage, position, steps.task(position).name, name(step.phase), name(step.kind), plan.step_name(step),
                axes_text(plan, step), values_text(plan, step.inputs), values_text(plan, step.outputs), step.flops,
                step.bytes_touched, step.wire_bytes, count, plan.seconds(position, stage), plan.cause(step));
    }
  }
}

}  // namespace shardscope
