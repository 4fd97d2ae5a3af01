#include <cmath>

#include "engine/export/table_pages.h"

namespace shardscope {

namespace {

constexpr size_t first_metric = 2;

// What all ranks sent and moved in a step.
struct Traffic {
  double wire_bytes = 0, moved_bytes = 0;
};

Traffic traffic_of(const StepMessage& step) {
  Traffic sum;
  for (const RankMeasurement& rank : step.ranks) {
    sum.wire_bytes += rank.wire_bytes;
    sum.moved_bytes += rank.moved_bytes < 0 ? std::nan("") : static_cast<double>(rank.moved_bytes);
  }
  return sum;
}

// Each training step of a recorded run: its time, its metrics, and what all ranks together sent (by the ring
// convention) and moved (counted at the transport; empty where the record does not say).
// Of steps that a restart did anew the last counts, so none is written before all are known.
void write_run_table(const ExportSource& source, const ExportChoice&, TableWriter& table) {
  std::vector<StepMessage> steps;
  std::vector<Traffic> traffic;
  std::vector<std::string> headings = {"step", "step_ms"};
  run_of(source, "the table of a run").replay([&](const Message& message) {
    if (auto* hello = std::get_if<HelloMessage>(&message)) {
      headings.insert(headings.end(), hello->metrics.begin(), hello->metrics.end());
    } else if (auto* step = std::get_if<StepMessage>(&message)) {
      while (!steps.empty() && steps.back().step >= step->step) steps.pop_back();
      steps.push_back({step->step, step->metrics, step->step_ms, {}});
      traffic.resize(steps.size());
      traffic.back() = traffic_of(*step);
      table.progress(static_cast<double>(step->step) / 2, static_cast<double>(source.plan->training.steps));
    }
  });
  const size_t metrics_end = headings.size();
  headings.insert(headings.end(), {"wire_bytes_sent", "moved_bytes"});
  table.headings(headings);
  for (size_t s = 0; s < steps.size(); ++s) {
    const StepMessage& step = steps[s];
    table.progress(0.5 + static_cast<double>(table.rows()) / static_cast<double>(2 * steps.size()), 1);
    table.add(step.step);
    table.add(step.step_ms);
    for (size_t i = first_metric; i < metrics_end; ++i) table.add(value_of(step.metrics, headings[i]));
    table.add(traffic[s].wire_bytes);
    table.add(traffic[s].moved_bytes);
    table.end_row();
  }
}

}  // namespace

TablePage run_table() { return {"run", write_run_table}; }

}  // namespace shardscope
