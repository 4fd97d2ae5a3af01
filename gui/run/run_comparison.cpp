#include "gui/run/run_comparison.h"

#include <QHeaderView>
#include <algorithm>
#include <cmath>
#include <ranges>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

// Of the rank that differs most from what is predicted of its stage; without a run of the heaviest stage.
template <class Field, class Predict>
void measure(Comparison& row, const Plan& plan, const RunRecord& run, Field field, const Predict& predict) {
  for (int stage = 0; stage < plan.program.stages; ++stage) row.predicted = std::max(row.predicted, predict(stage));
  for (const RankMeasurement& rank : run.measurements()) {
    if (rank.rank >= plan.mesh.device_count()) continue;
    const auto value = static_cast<double>(rank.*field);
    const double predicted = predict(plan.stage_of(rank.rank));
    if (row.is_measured && std::abs(value - predicted) <= std::abs(row.measured - row.predicted)) continue;
    row.predicted = predicted;
    row.measured = value;
    row.is_measured = true;
  }
}

double stored_bytes(const Plan& plan, bool of_state, int stage) {
  double bytes = 0;
  const auto add = [&](int value) {
    if (value >= 0 && plan.program.values[value].stage == stage) bytes += double(plan.program.values[value].bytes());
  };
  for (const ParameterPlan& parameter : plan.parameters) {
    if (!of_state) add(parameter.value);
    else std::ranges::for_each(parameter.state_values, add);
  }
  return bytes;
}

// What a stage waits before a step belongs to the step's phase.
std::array<double, step_phases> phase_seconds(const Plan& plan, int stage) {
  std::array<double, step_phases> seconds{};
  double before = 0;
  auto span = plan.pipeline.timeline.stages[static_cast<size_t>(stage)].begin();
  for (const Step& step : plan.steps(stage)) {
    seconds[static_cast<size_t>(step.phase)] += span->end - before;
    before = span++->end;
  }
  return seconds;
}

}  // namespace

std::vector<Comparison> compare(const Plan& plan, const RunRecord& run) {
  using QtText = QObject;
  Comparison arena{QtText::tr("Arena of a rank"),
                   QtText::tr("Memory of all arrays: planned, and the highest byte that was overwritten."), 0, 0,
                   bytes_text};
  Comparison sent{QtText::tr("Sent by a rank a step"),
                  QtText::tr("Wire bytes: planned, and counted by the communicator."), 0, 0, bytes_text};
  Comparison parameters{
      QtText::tr("Parameters of a rank"),
      QtText::tr("Bytes of stored shards: by the specs, and counted in the arena when the values were made."), 0, 0,
      bytes_text};
  Comparison optimizer{QtText::tr("Optimizer state of a rank"),
                       QtText::tr("Bytes of stored state: by the specs, and counted in the arena when it was made."), 0,
                       0, bytes_text};
  Comparison time{QtText::tr("Step time"),
                  QtText::tr("Predicted by the cost model, and the median of the run (first step left out)."),
                  plan.totals.seconds_per_step, 0, seconds_text};
  const auto totals = [&](int stage) -> const PlanTotals& { return plan.pipeline.totals.at(stage); };
  measure(arena, plan, run, &RankMeasurement::arena_bytes, [&](int s) { return double(totals(s).memory_total); });
  measure(sent, plan, run, &RankMeasurement::wire_bytes, [&](int s) { return totals(s).wire_bytes_per_device; });
  measure(parameters, plan, run, &RankMeasurement::parameter_bytes,
          [&](int stage) { return stored_bytes(plan, false, stage); });
  measure(optimizer, plan, run, &RankMeasurement::optimizer_bytes,
          [&](int stage) { return stored_bytes(plan, true, stage); });
  if (const std::optional<double> ms = run.median_step_ms()) {
    time.measured = *ms / 1000;
    time.is_measured = true;
  }
  std::vector<Comparison> rows{arena, sent, parameters, optimizer, time};
  std::vector<std::array<double, step_phases>> predicted;  // per stage
  for (int stage = 0; stage < plan.program.stages; ++stage) predicted.push_back(phase_seconds(plan, stage));
  for (Phase phase : {Phase::forward, Phase::recompute, Phase::backward, Phase::update}) {
    const auto i = static_cast<size_t>(phase);
    const auto of_phase = [i](const auto& stage) { return stage[i]; };
    const double longest = std::ranges::max(predicted | std::views::transform(of_phase));
    if (phase == Phase::recompute && longest == 0) continue;
    Comparison row{QtText::tr("Time in the %1 phase").arg(qt(name(phase))),
                   QtText::tr("Work and waiting of the slowest rank in this phase of the newest step."), longest, 0,
                   seconds_text};
    for (const RankMeasurement& rank : run.measurements()) {
      const double seconds = (rank.busy_ms[i] + rank.wait_ms[i]) / 1000;
      if (rank.rank >= plan.mesh.device_count() || (row.is_measured && seconds <= row.measured)) continue;
      row.measured = seconds;
      row.predicted = predicted[plan.stage_of(rank.rank)][i];
      row.is_measured = true;
    }
    rows.push_back(row);
  }
  return rows;
}

RunComparison::RunComparison(RunControl& run, Planner& planner, QWidget* parent)
    : QTableWidget(0, 4, parent), run_(run), planner_(planner) {
  setObjectName("comparison");
  setAccessibleName(tr("predicted and measured"));
  setHorizontalHeaderLabels({tr("Quantity"), tr("Predicted"), tr("Measured"), tr("Difference")});
  for (int column = 1; column < 4; ++column)
    horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  horizontalHeaderItem(0)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(23);
  horizontalHeader()->setHighlightSections(false);
  setFrameShape(QFrame::NoFrame);
  setShowGrid(false);
  setAlternatingRowColors(true);
  setEditTriggers(NoEditTriggers);
  setSelectionBehavior(SelectRows);
  setColumnWidth(0, 220);
  for (int column = 1; column < 4; ++column) setColumnWidth(column, 110);
  connect(&run, &RunControl::received, this, &RunComparison::refresh);
  connect(&planner, &Planner::delivered, this, &RunComparison::refresh);
}

void RunComparison::showEvent(QShowEvent* event) {
  QTableWidget::showEvent(event);
  refresh();
}

void RunComparison::refresh() {
  if (!isVisible()) return;
  const std::shared_ptr<const Plan> plan = run_.plan() ? run_.plan() : planner_.plan();
  if (!plan) return;
  const std::vector<Comparison> rows = compare(*plan, run_.record());
  setRowCount(static_cast<int>(rows.size()));
  for (int i = 0; i < rowCount(); ++i) {
    const Comparison& row = rows[static_cast<size_t>(i)];
    const auto exact = [&](double value) {
      return row.format == bytes_text ? qt(exact_bytes(value)) : QString::number(value * 1e3, 'f', 3) + " ms";
    };
    const std::pair<QString, QString> cells[] = {
        {row.name, row.tip},
        {qt(row.format(row.predicted)), exact(row.predicted)},
        {row.is_measured ? qt(row.format(row.measured)) : QString("\u2013"),
         row.is_measured ? exact(row.measured) : tr("train to see it")},
        {row.is_measured ? qt(ratio_text(row.measured, row.predicted)) : QString(),
         row.is_measured ? tr("measured minus predicted: %1").arg(exact(row.measured - row.predicted)) : QString()}};
    for (int column = 0; column < 4; ++column) {
      if (!item(i, column)) setItem(i, column, new QTableWidgetItem);
      QTableWidgetItem* cell = item(i, column);
      cell->setText(cells[column].first);
      cell->setToolTip(cells[column].second);
      if (column > 0) cell->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    }
  }
}

}  // namespace shardscope
