#include "gui/run/history_tab.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QMessageBox>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/filled_layout.h"
#include "gui/look/row_table.h"
#include "viz/text/metric_text.h"

namespace shardscope {
namespace {

struct HistoryColumn {
  enum { started, mesh, end, steps, metric, time, count };
};
constexpr qint64 abandoned_seconds = 3600;  // a run that is being started has no socket yet

QString end_text(const RunRecord& record) {
  if (!record.finished) return HistoryTab::tr("without an end");
  switch (record.finished->end) {
    case RunEnd::finished: return HistoryTab::tr("finished");
    case RunEnd::stopped: return HistoryTab::tr("stopped");
    case RunEnd::interrupted: return HistoryTab::tr("interrupted");
    case RunEnd::failed: break;
  }
  return record.failure ? HistoryTab::tr("failed: %1").arg(qt(record.failure->message)) : HistoryTab::tr("failed");
}

QStringList cells_of(const StoredRun& run, const RunRecord* record, const QString& end) {
  QStringList cells{run.started.toString("yyyy-MM-dd  HH:mm:ss"), run.mesh, end, {}, {}, {}};
  if (!record) return cells;
  cells[HistoryColumn::steps] = HistoryTab::tr("%1 of %2").arg(record->completed()).arg(run.steps);
  if (const StepMessage* newest = record->newest(); newest && !newest->metrics.empty()) {
    const MetricValue& first = newest->metrics.front();
    cells[HistoryColumn::metric] = qt(metric_label(first.name) + " " + metric_text(first.name, first.value));
  }
  if (const std::optional<double> ms = record->median_step_ms())
    cells[HistoryColumn::time] = qt(seconds_text(*ms / 1000));
  return cells;
}

}  // namespace

HistoryTab::HistoryTab(RunControl& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      table_(new QTableWidget(0, HistoryColumn::count, this)),
      attach_(new QPushButton(tr("Attach"), this)),
      remove_(new QPushButton(tr("Remove\u2026"), this)),
      empty_(new QLabel(tr("Runs of this file are listed here; ticked ones are laid over the curves."), this)),
      reader_(new RunReader(this)) {
  table_->setObjectName("history");
  table_->setAccessibleName(tr("Runs of this file"));
  table_->setHorizontalHeaderLabels(
      {tr("Started"), tr("Mesh"), tr("End"), tr("Steps"), tr("Last value"), tr("Step time")});
  set_row_table(*table_, 23);
  table_->horizontalHeader()->setSectionResizeMode(HistoryColumn::end, QHeaderView::Stretch);
  table_->setColumnWidth(HistoryColumn::started, 170);
  table_->setColumnWidth(HistoryColumn::mesh, 150);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  attach_->setObjectName("attachSelected");
  attach_->setToolTip(tr("Watches the selected run, which goes on without a window."));
  remove_->setObjectName("removeRun");
  remove_->setToolTip(tr("Removes the selected run and its record from the history, once that is confirmed."));
  empty_->setProperty("muted", true);
  auto* bar = filled(bordered(new QHBoxLayout, {8, 4, 8, 2}), {{empty_, 1}, attach_, remove_});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addLayout(bar);
  layout->addWidget(table_, 1);

  connect(table_, &QTableWidget::itemSelectionChanged, this, &HistoryTab::show_selected);
  connect(table_, &QTableWidget::itemChanged, this, &HistoryTab::show_past);
  connect(attach_, &QPushButton::clicked, this, [this] {
    if (const StoredRun* run = selected()) emit attachWanted(*run);
  });
  connect(remove_, &QPushButton::clicked, this, &HistoryTab::remove_selected);
  connect(reader_, &RunReader::read, this, &HistoryTab::take);
  connect(&run_, &RunControl::stateChanged, this, [this] {
    const bool was_active = std::exchange(was_active_, run_.is_active());
    if (was_active != was_active_) refresh();
    show_selected();
  });
  refresh();
}

void HistoryTab::showEvent(QShowEvent*) { refresh(); }

const StoredRun* HistoryTab::selected() const {
  const QModelIndexList rows = table_->selectionModel()->selectedRows();
  return rows.isEmpty() || rows.front().row() >= std::ssize(runs_) ? nullptr : &runs_[size_t(rows.front().row())];
}

bool HistoryTab::is_ticked(int row) const {
  const QTableWidgetItem* item = table_->item(row, HistoryColumn::started);
  return item && item->checkState() == Qt::Checked;
}

void HistoryTab::refresh() {
  const QString chosen = selected() ? selected()->id : QString();
  std::set<QString> ticked;
  for (int row = 0; row < table_->rowCount(); ++row)
    if (is_ticked(row)) ticked.insert(runs_[size_t(row)].id);
  if (std::exchange(folder_, run_.store().folder()) != run_.store().folder()) {
    known_.clear();
    reader_->forget();
  }
  runs_ = run_.store().runs();
  going_on_.clear();
  left_.clear();
  std::optional<StoredRun> running;
  {
    const QSignalBlocker block(table_);
    table_->setRowCount(static_cast<int>(runs_.size()));
    for (int row = 0; row < table_->rowCount(); ++row) {
      const StoredRun& run = runs_[size_t(row)];
      for (int column = 0; column < HistoryColumn::count; ++column) table_->setItem(row, column, new QTableWidgetItem);
      const bool is_at_hand = run.id == run_.stored().id;
      QTableWidgetItem* first = table_->item(row, HistoryColumn::started);
      first->setFlags(is_at_hand ? Qt::ItemIsEnabled | Qt::ItemIsSelectable
                                 : Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
      if (!is_at_hand) first->setCheckState(ticked.contains(run.id) ? Qt::Checked : Qt::Unchecked);
      show_row(row);
      if (is_at_hand) continue;
      const bool is_left = run.is_left();
      if (run.is_running()) {
        going_on_.insert(run.id);
        if (is_left && left_.insert(run.id).second && !running) running = run;
      } else if (is_left || run.started.secsTo(QDateTime::currentDateTime()) > abandoned_seconds) {
        remove_left(run);
      }
      if ((isVisible() || ticked.contains(run.id)) && !known_[run.id].is_whole) reader_->want(run);
    }
    // New runs come before it.
    const auto again = std::ranges::find(runs_, chosen, &StoredRun::id);
    table_->clearSelection();
    if (again != runs_.end()) table_->selectRow(static_cast<int>(again - runs_.begin()));
  }
  empty_->setText(runs_.empty() ? tr("No runs of this file yet. Those that you train are kept here.")
                                : tr("Ticked runs are laid over the curves of the run at hand."));
  const bool is_other = running.has_value() != running_.has_value() || (running && running->id != running_->id);
  running_ = std::move(running);
  if (is_other) emit runningChanged();
  show_selected();
  show_past();
}

void HistoryTab::take(const QString& id, const ReadRun& read) {
  const auto found = std::ranges::find(runs_, id, &StoredRun::id);
  if (found == runs_.end()) return;
  const int row = static_cast<int>(found - runs_.begin());
  Known& known = known_[id];
  known.cells = cells_of(*found, read.record.get(), read.record ? end_text(*read.record) : read.problem);
  known.is_whole = read.record && read.record->finished;
  known.is_unreadable = !read.record;
  known.record = is_ticked(row) ? read.record : nullptr;
  show_row(row);
  show_past();
}

void HistoryTab::show_row(int row) {
  const QSignalBlocker block(table_);
  const StoredRun& run = runs_[size_t(row)];
  const auto known = known_.find(run.id);
  QStringList cells = known != known_.end() ? known->second.cells : QStringList();
  if (run.id == run_.stored().id)
    cells = cells_of(run, &run_.record(), run_.is_active() ? tr("at hand") : end_text(run_.record()));
  if (cells.isEmpty()) cells = cells_of(run, nullptr, {});
  for (int column = 0; column < HistoryColumn::count; ++column) {
    QTableWidgetItem* item = table_->item(row, column);
    item->setText(cells[column]);
    item->setToolTip(cells[column]);
  }
}

void HistoryTab::show_selected() {
  const StoredRun* run = selected();
  const bool is_free = run && run->id != run_.stored().id;
  attach_->setEnabled(is_free && left_.contains(run->id) && !run_.is_active());
  remove_->setEnabled(run && !going_on_.contains(run->id) && (is_free || !run_.is_active()));
}

void HistoryTab::show_past() {
  std::vector<PastRun> past;
  for (int row = 0; row < table_->rowCount(); ++row) {
    const StoredRun& run = runs_[size_t(row)];
    Known& known = known_[run.id];
    if (!is_ticked(row)) {
      known.record.reset();
    } else if (known.record) {
      past.push_back({run.label(), known.record, run.work});
    } else if (!known.is_unreadable) {
      reader_->want(run);
    }
  }
  emit pastChanged(past);
}

void HistoryTab::remove_selected() {
  if (!selected()) return;
  const StoredRun run = *selected();
  QMessageBox box(QMessageBox::Question, tr("Remove run"),
                  tr("Remove the run of %1 from the history, with its record?").arg(run.label()), QMessageBox::Cancel,
                  this);
  box.setInformativeText(tr("This cannot be undone."));
  const QPushButton* remove = box.addButton(tr("&Remove"), QMessageBox::DestructiveRole);
  box.setDefaultButton(QMessageBox::Cancel);
  box.exec();
  if (box.clickedButton() == remove) run_.store().remove(run);
  refresh();
}

}  // namespace shardscope
