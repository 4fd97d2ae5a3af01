#include "engine/export/plan_words.h"
#include "engine/export/table_pages.h"

namespace shardscope {

namespace {

double seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

// `rank` is empty for what is predicted: all devices of the stage are alike.
void add_row(const Plan& plan, TableWriter& table, const std::string& rank, int stage, int position,
             const PlanStepTime& time) {
  const Step& step = plan.steps(stage)[position];
  table.row(rank.empty() ? "predicted" : "measured", stage, rank, position,
            run_at(plan.program.main(stage), position).microbatch, plan.steps(stage).task(position).name,
            name(step.phase), name(step.kind), plan.step_name(step), seconds(time.arrive_ns), seconds(time.start_ns),
            seconds(time.end_ns));
}

}  // namespace

void write_timeline_table(const ExportSource& source, const ExportChoice& choice, TableWriter& table) {
  const Plan& plan = *source.plan;
  table.headings({"source", "stage", "rank", "position", "microbatch", "task", "phase", "kind", "step",
                  "arrive_seconds", "start_seconds", "end_seconds"});
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    int position = 0;
    for (const auto& [start, end] : predicted_times(plan, stage))
      add_row(plan, table, "", stage, position++, {start, start, end});
  }
  const TraceMessage* trace = trace_of(source, choice.trace);
  for (int rank = 0; trace && rank < static_cast<int>(trace->ranks.size()); ++rank) {
    int position = 0;
    for (const PlanStepTime& time : trace->ranks[static_cast<size_t>(rank)])
      add_row(plan, table, std::to_string(rank), plan.stage_of(rank), position++, time);
  }
}

}  // namespace shardscope
