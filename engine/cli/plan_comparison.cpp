#include <fmt/format.h>

#include "engine/base/units.h"
#include "engine/cli/plan_report.h"
#include "engine/cli/text_table.h"

namespace shardscope {

std::string plan_comparison(const std::string& setting, const std::vector<NamedPlan>& plans) {
  using Align = TextTable::Align;
  TextTable table({{setting},
                   {"Memory", Align::right},
                   {"Activations", Align::right},
                   {"Gradients", Align::right},
                   {"Optimizer", Align::right},
                   {"Sent", Align::right},
                   {"GFLOP", Align::right},
                   {"Time", Align::right}});
  for (const auto& [name, plan] : plans) {
    const PlanTotals& totals = plan.totals;
    const auto memory = [&](MemoryCategory category) {
      return bytes_text(static_cast<double>(totals.device_memory[static_cast<size_t>(category)]));
    };
    table.add_row({name, bytes_text(static_cast<double>(totals.device_bytes)), memory(MemoryCategory::activations),
                   memory(MemoryCategory::gradients), memory(MemoryCategory::optimizer),
                   bytes_text(totals.wire_bytes_per_device), fmt::format("{:.2f}", totals.flops_per_device / 1e9),
                   fmt::format("{:.3g} s", totals.seconds_per_step)});
  }
  return table.text();
}

}  // namespace shardscope
