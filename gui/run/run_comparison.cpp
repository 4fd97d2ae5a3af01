#include "gui/run/run_comparison.h"

#include <QHeaderView>
#include <algorithm>
#include <cmath>
#include <ranges>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/row_table.h"

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
    if (value < 0) continue;  // not known
    if (row.is_measured && std::abs(value - predicted) <= std::abs(row.measured - row.predicted)) continue;
    row.predicted = predicted;
    row.measured = value;
    row.is_measured = true;
  }
}

}  // namespace

std::vector<Comparison> compare(const Plan& plan, const std::vector<StageQuantities>& stages, const RunRecord& run) {
  using QtText = QObject;
  Comparison arena{QtText::tr("Arena of a rank"),
                   QtText::tr("Memory of all arrays: planned, and the highest byte that was overwritten."), 0, 0,
                   bytes_text};
  Comparison sent{QtText::tr("Sent by a rank a step"),
                  QtText::tr("By the ring convention: planned, and counted from the calls of the communicator."), 0, 0,
                  bytes_text};
  Comparison moved{QtText::tr("Moved by a rank a step"),
                   QtText::tr("By the ring convention, and what the transport really moved: bytes that it copied, read "
                              "from peers, summed or handed to MPI."),
                   0, 0, bytes_text};
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
  measure(moved, plan, run, &RankMeasurement::moved_bytes, [&](int s) { return totals(s).wire_bytes_per_device; });
  measure(parameters, plan, run, &RankMeasurement::parameter_bytes,
          [&](int stage) { return stages.at(stage).parameter_bytes; });
  measure(optimizer, plan, run, &RankMeasurement::optimizer_bytes,
          [&](int stage) { return stages.at(stage).state_bytes; });
  if (const std::optional<double> ms = run.median_step_ms()) {
    time.measured = *ms / 1000;
    time.is_measured = true;
  }
  std::vector<Comparison> rows{arena, sent, moved, parameters, optimizer, time};
  for (Phase phase : {Phase::forward, Phase::recompute, Phase::backward, Phase::update}) {
    const auto i = static_cast<size_t>(phase);
    const auto of_phase = [i](const StageQuantities& stage) { return stage.phase_seconds[i]; };
    const double longest = std::ranges::max(stages | std::views::transform(of_phase));
    if (phase == Phase::recompute && longest == 0) continue;
    Comparison row{QtText::tr("Time in the %1 phase").arg(qt(name(phase))),
                   QtText::tr("Work and waiting of the slowest rank in this phase of the newest step."), longest, 0,
                   seconds_text};
    for (const RankMeasurement& rank : run.measurements()) {
      const double seconds = (rank.busy_ms[i] + rank.wait_ms[i]) / 1000;
      if (rank.rank >= plan.mesh.device_count() || (row.is_measured && seconds <= row.measured)) continue;
      row.measured = seconds;
      row.predicted = of_phase(stages.at(plan.stage_of(rank.rank)));
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
  set_row_table(*this, 23);
  setAlternatingRowColors(true);
  setEditTriggers(NoEditTriggers);
  setColumnWidth(0, 220);
  for (int column = 1; column < 4; ++column) setColumnWidth(column, 110);
  connect(&run, &RunControl::received, this, &RunComparison::refresh);
  connect(&planner, &Planner::delivered, this, &RunComparison::refresh);
}

void RunComparison::showEvent(QShowEvent* event) {
  QTableWidget::showEvent(event);
  refresh();
}

const std::vector<StageQuantities>& RunComparison::quantities_of(const std::shared_ptr<const Plan>& plan) {
  if (plan == planner_.plan()) return planner_.index().quantities;
  if (plan != other_plan_) quantities_ = stage_quantities(*plan);
  other_plan_ = plan;
  return quantities_;
}

void RunComparison::refresh() {
  if (!isVisible()) return;
  const std::shared_ptr<const Plan> plan = run_.plan() ? run_.plan() : planner_.plan();
  if (!plan) return;
  const std::vector<Comparison> rows = compare(*plan, quantities_of(plan), run_.record());
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
