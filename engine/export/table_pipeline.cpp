#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/table_pages.h"

namespace shardscope {

namespace {

// Each stage of the pipeline; without one there is one.
void write_pipeline_table(const ExportSource& source, const ExportChoice&, TableWriter& table) {
  const Plan& plan = *source.plan;
  const PipelinePlan& pipeline = plan.pipeline;
  table.headings({"stage", "devices", "layers", "chunks", "microbatches", "microbatches_in_flight", "memory_bytes",
                  "wire_bytes", "flops", "seconds_at_work", "seconds_waiting"});
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    table.progress(stage, plan.program.stages);
    const PlanTotals& totals = pipeline.totals[static_cast<size_t>(stage)];
    const size_t index = static_cast<size_t>(stage);
    table.row(stage, plan.devices_of_stage(stage).size(), fmt::format("{}", fmt::join(pipeline.layers_of(stage), "+")),
              pipeline.shape.chunks, pipeline.shape.microbatches,
              index < pipeline.in_flight.size() ? pipeline.in_flight[index] : 1, totals.device_bytes,
              totals.wire_bytes_per_device, totals.flops_per_device, totals.seconds_per_step,
              plan.waiting_share(stage) * plan.totals.seconds_per_step);
  }
}

}  // namespace

TablePage pipeline_table() { return {"pipeline", write_pipeline_table}; }

}  // namespace shardscope
