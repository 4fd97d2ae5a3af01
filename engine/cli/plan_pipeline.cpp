#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/plural.h"
#include "engine/base/units.h"
#include "engine/cli/plan_report.h"
#include "engine/cli/text_table.h"

namespace shardscope {

std::string pipeline_text(const Plan& plan) {
  const PipelinePlan& pipeline = plan.pipeline;
  if (!pipeline.axis) return "";
  using Align = TextTable::Align;
  TextTable table({{"Stage", Align::right},
                   {"Layers"},
                   {"In flight", Align::right},
                   {"Memory", Align::right},
                   {"Sent", Align::right},
                   {"GFLOP", Align::right},
                   {"At work", Align::right},
                   {"Waits", Align::right}});
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const PlanTotals& totals = pipeline.totals[static_cast<size_t>(stage)];
    table.add_row({std::to_string(stage), fmt::format("{}", fmt::join(pipeline.layers_of(stage), " + ")),
                   std::to_string(pipeline.in_flight[static_cast<size_t>(stage)]),
                   bytes_text(static_cast<double>(totals.device_bytes)), bytes_text(totals.wire_bytes_per_device),
                   fmt::format("{:.2f}", totals.flops_per_device / 1e9),
                   fmt::format("{:.3g} s", totals.seconds_per_step),
                   fmt::format("{:.0f} %", 100 * plan.waiting_share(stage))});
  }
  return fmt::format("Pipeline: axis {}, {} over {}, {}\n{}", plan.pipeline_axis(), pipeline.schedule,
                     counted(plan.program.stages, "stage"),
                     counted(pipeline.shape.microbatches, "microbatch", "microbatches"), table.text()) +
         fmt::format("The stages wait {:.1f} % of the step; were all their work equal, it would be {:.1f} %\n",
                     100 * plan.simulation.bubble, 100 * pipeline.equal_bubble);
}

}  // namespace shardscope
