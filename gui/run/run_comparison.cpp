#include "gui/run/run_comparison.h"

#include <QHeaderView>
#include <cmath>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

template <class Field>
void measure(Comparison& row, const RunRecord& run, Field field) {
  for (const RankMeasurement& rank : run.measurements()) {
    const auto value = static_cast<double>(rank.*field);
    if (!row.is_measured || std::abs(value - row.predicted) > std::abs(row.measured - row.predicted))
      row.measured = value;
    row.is_measured = true;
  }
}

double stored_bytes(const Plan& plan, bool of_state) {
  double bytes = 0;
  for (const ParameterPlan& parameter : plan.parameters) {
    if (!of_state && parameter.value >= 0) bytes += double(plan.program.values[parameter.value].bytes());
    if (of_state)
      for (int value : parameter.state_values) bytes += double(plan.program.values[value].bytes());
  }
  return bytes;
}

std::array<double, step_phases> phase_seconds(const Plan& plan) {
  std::array<double, step_phases> seconds{};
  int position = 0;
  for (const Step& step : plan.steps()) seconds[static_cast<size_t>(step.phase)] += plan.seconds(position++);
  return seconds;
}

}  // namespace

std::vector<Comparison> compare(const Plan& plan, const RunRecord& run) {
  using QtText = QObject;
  Comparison arena{QtText::tr("Arena of a rank"),
                   QtText::tr("Memory of all arrays: planned, and the highest byte that was overwritten."),
                   double(plan.totals.memory_total), 0, bytes_text};
  Comparison sent{QtText::tr("Sent by a rank a step"),
                  QtText::tr("Wire bytes: planned, and counted by the communicator."),
                  plan.totals.wire_bytes_per_device, 0, bytes_text};
  Comparison parameters{
      QtText::tr("Parameters of a rank"),
      QtText::tr("Bytes of stored shards: by the specs, and counted in the arena when the values were made."),
      stored_bytes(plan, false), 0, bytes_text};
  Comparison optimizer{QtText::tr("Optimizer state of a rank"),
                       QtText::tr("Bytes of stored state: by the specs, and counted in the arena when it was made."),
                       stored_bytes(plan, true), 0, bytes_text};
  Comparison time{QtText::tr("Step time"),
                  QtText::tr("Predicted by the cost model, and the median of the run (first step left out)."),
                  plan.totals.seconds_per_step, 0, seconds_text};
  measure(arena, run, &RankMeasurement::arena_bytes);
  measure(sent, run, &RankMeasurement::wire_bytes);
  measure(parameters, run, &RankMeasurement::parameter_bytes);
  measure(optimizer, run, &RankMeasurement::optimizer_bytes);
  if (const std::optional<double> ms = run.median_step_ms()) {
    time.measured = *ms / 1000;
    time.is_measured = true;
  }
  std::vector<Comparison> rows{arena, sent, parameters, optimizer, time};
  const std::array<double, step_phases> predicted = phase_seconds(plan);
  for (Phase phase : {Phase::forward, Phase::recompute, Phase::backward, Phase::update}) {
    if (phase == Phase::recompute && predicted[static_cast<size_t>(phase)] == 0) continue;
    Comparison row{QtText::tr("Time in the %1 phase").arg(qt(name(phase))),
                   QtText::tr("Work and waiting of the slowest rank in this phase of the newest step."),
                   predicted[static_cast<size_t>(phase)], 0, seconds_text};
    for (const RankMeasurement& rank : run.measurements()) {
      const auto i = static_cast<size_t>(phase);
      row.measured = std::max(row.measured, (rank.busy_ms[i] + rank.wait_ms[i]) / 1000);
      row.is_measured = true;
    }
    rows.push_back(row);
  }
  return rows;
}

RunComparison::RunComparison(RunControl& run, Planner& planner, QWidget* parent)
    : QTableWidget(0, 4, parent), run_(run), planner_(planner) {
  setObjectName("comparison");
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
