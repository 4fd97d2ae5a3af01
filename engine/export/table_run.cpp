#include <cmath>

#include "engine/export/table_pages.h"

namespace shardscope {

// Of steps that a restart did anew the last counts, so none is written before all are known.
void write_run_table(const ExportSource& source, const ExportChoice&, TableWriter& table) {
  std::vector<StepMessage> steps;
  std::vector<std::string> headings = {"step", "step_ms"};
  run_of(source, "the table of a run").replay([&](const Message& message) {
    if (auto* hello = std::get_if<HelloMessage>(&message)) {
      headings.insert(headings.end(), hello->metrics.begin(), hello->metrics.end());
    } else if (auto* step = std::get_if<StepMessage>(&message)) {
      while (!steps.empty() && steps.back().step >= step->step) steps.pop_back();
      steps.push_back({step->step, step->metrics, step->step_ms, {}});
      table.progress(static_cast<double>(step->step) / 2, static_cast<double>(source.plan->config.steps));
    }
  });
  table.headings(headings);
  for (const StepMessage& step : steps) {
    table.progress(0.5 + static_cast<double>(table.rows()) / static_cast<double>(2 * steps.size()), 1);
    table.add(step.step);
    table.add(step.step_ms);
    for (size_t i = 2; i < headings.size(); ++i) table.add(value_of(step.metrics, headings[i]));
    table.end_row();
  }
}

}  // namespace shardscope
