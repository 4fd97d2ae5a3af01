#include "gui/compare/next_tab.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>
#include <cmath>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"
#include "gui/look/in_picture.h"
#include "gui/look/key_help.h"
#include "gui/look/row_table.h"
#include "gui/planning/errors_of_work.h"

namespace shardscope {
namespace {

constexpr int sort_role = Qt::UserRole;

QString change_text(double after, double before) {
  const double change = before > 0 ? 100 * (after / before - 1) : 0;
  return std::abs(change) < 0.05 ? QString("0.0 %") : qt(fmt::format("{:+.1f} %", change));
}

QStandardItem* cell(const QString& text, const QVariant& order = {}) {
  auto* item = new QStandardItem(text);
  item->setEditable(false);
  item->setToolTip(text);
  item->setData(order.isValid() ? order : QVariant(text), sort_role);
  if (order.isValid()) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  return item;
}

}  // namespace

NextTab::NextTab(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      model_(new QStandardItemModel(this)),
      sorted_(new QSortFilterProxyModel(this)),
      plan_(new QPushButton(this)),
      take_(new QPushButton(tr("Take this change"), this)),
      progress_(new QProgressBar(this)),
      now_(new QLabel(this)),
      table_(new QTableView(this)),
      note_(new FooterNote(this)),
      none_(new EmptyNote(this)),
      planning_([this](Outcome outcome) { show_outcome(std::move(outcome)); }, thread_) {
  plan_->setObjectName("nextStart");
  take_->setObjectName("nextTake");
  take_->setToolTip(tr("The document has the selected change (Enter or double click); undo takes it back."));
  progress_->setObjectName("nextProgress");
  progress_->setRange(0, 0);
  progress_->setTextVisible(false);
  progress_->setMaximumWidth(100);
  progress_->setMaximumHeight(10);
  progress_->setAccessibleName(tr("Changes that are planned"));
  now_->setObjectName("nextNow");
  now_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  table_->setObjectName("next");
  table_->setAccessibleName(tr("Single changes, by what they gain"));
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(sort_role);
  table_->setModel(sorted_);
  table_->setSortingEnabled(true);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setWordWrap(false);
  table_->setTextElideMode(Qt::ElideMiddle);
  table_->setAlternatingRowColors(true);
  set_row_table(*table_, 24);
  set_key_help(table_, tr("What next"), {{tr("Enter"), tr("take the selected change")}});
  none_->setText(
      tr("<b>What next?</b><br>Plan every single change of the strategy, such as an axis twice as long, other "
         "recomputation or a ZeRO stage more, and see what each gains in time and memory."));

  auto* bar = filled(bordered(new QHBoxLayout, {10, 8, 10, 6}), {now_, spacer, progress_, plan_, take_});
  filled(tight(new QVBoxLayout(this)), {bar, {table_, 1}, {none_, 1}, note_});
  connect(plan_, &QPushButton::clicked, this, [this] {
    if (!is_busy()) return start();
    planning_.cancel();
    show_state();
  });
  connect(take_, &QPushButton::clicked, this, [this] { take(table_->currentIndex()); });
  connect(table_, &QTableView::activated, this, &NextTab::take);
  connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, &NextTab::show_state);
  connect(&workspace.document, &Document::replaced, this, &NextTab::forget);
  connect(&workspace.document, &Document::configChanged, this, &NextTab::show_state);
  connect(&workspace.planner, &Planner::delivered, this, &NextTab::show_state);
  connect(&look(), &Look::changed, this, &NextTab::show_state);
  show_state();
}

void NextTab::start() {
  if (!workspace_.planner.is_current()) return;
  planning_.make(
      [plan = workspace_.planner.plan(), config = workspace_.document.config()](const std::stop_token& stop) {
        Outcome outcome{config, {}, {}};
        outcome.errors = errors_of_work([&] { outcome.next = what_next(*plan, {}, stop); });
        return outcome;
      });
  show_state();
}

void NextTab::forget() {
  planning_.cancel();
  shown_ = {};
  model_->clear();
  show_state();
}

void NextTab::show_outcome(Outcome outcome) {
  shown_ = std::move(outcome);
  model_->clear();
  model_->setHorizontalHeaderLabels({tr("Change"), tr("Time"), tr("±"), tr("Memory"), tr("±"), tr("State")});
  model_->horizontalHeaderItem(time_change_column)->setToolTip(tr("How much longer a step takes than now."));
  model_->horizontalHeaderItem(memory_change_column)
      ->setToolTip(tr("How much more the heaviest device holds than now."));
  if (shown_.next) {
    for (const Notch& notch : shown_.next->notches) add_row(notch);
  }
  QHeaderView* header = table_->horizontalHeader();
  header->setStretchLastSection(false);
  header->setSectionResizeMode(setting_column, QHeaderView::Stretch);
  for (int column = time_column; column <= state_column; ++column) table_->resizeColumnToContents(column);
  // Those that fit first, then the shortest step.
  sorted_->sort(-1);
  header->setSortIndicator(-1, Qt::AscendingOrder);
  show_state();
}

void NextTab::add_row(const Notch& notch) {
  const PlanCost &now = shown_.next->now, &after = notch.after;
  const auto seconds = after.seconds;
  const auto bytes = static_cast<double>(after.bytes), bytes_now = static_cast<double>(now.bytes);
  const QString state =
      after.excess_bytes > 0 ? tr("%1 too much").arg(qt(bytes_text(double(after.excess_bytes)))) : tr("fits");
  QList<QStandardItem*> row{cell(qt(fmt::format("{}", fmt::join(notch.settings, " ")))),
                            cell(qt(seconds_text(seconds)), seconds),
                            cell(change_text(seconds, now.seconds), seconds),
                            cell(qt(bytes_text(bytes)), bytes),
                            cell(change_text(bytes, bytes_now), bytes),
                            cell(state)};
  if (after.excess_bytes > 0) {
    for (QStandardItem* item : row) item->setForeground(theme().warning);
  }
  model_->appendRow(row);
}

void NextTab::take(const QModelIndex& index) {
  if (!index.isValid() || !shown_.next || !is_of_shown_config()) return;
  const auto row = static_cast<size_t>(sorted_->mapToSource(index).row());
  const Notch notch = shown_.next->notches.at(row);
  plan_->setFocus();  // the table is out of date then
  workspace_.document.close_edit();
  workspace_.document.edit(notch.config, qt(fmt::format("{}", fmt::join(notch.settings, " "))));
}

void NextTab::show_state() {
  const bool is_known = shown_.next.has_value(), is_old = is_known && !is_of_shown_config();
  plan_->setText(is_busy() ? tr("Cancel") : tr("Plan single changes"));
  plan_->setToolTip(is_busy() ? tr("Ends the planning; what is known stays.")
                              : tr("Plans every single change in the background."));
  plan_->setEnabled(is_busy() || workspace_.planner.is_current());
  progress_->setVisible(is_busy());
  table_->setVisible(is_known);
  table_->setEnabled(!is_old);
  none_->setVisible(!is_known);
  take_->setEnabled(is_known && !is_old && table_->currentIndex().isValid());
  const PlanCost now = is_known ? shown_.next->now : PlanCost();
  now_->setText(is_known ? tr("Now %1 a step, %2 on the heaviest device")
                               .arg(qt(seconds_text(now.seconds)), qt(bytes_text(double(now.bytes))))
                         : QString());
  note_->set_out_of_date(is_old || !shown_.errors.empty());
  if (is_busy()) {
    note_->setText(tr("Planning every single change…"));
  } else if (!shown_.errors.empty()) {
    note_->setText(qt(to_string(shown_.errors.front())));
  } else if (is_old) {
    note_->setText(tr("Out of date: %1 has changed since. Plan the changes again.").arg(workspace_.document.title()));
  } else if (!is_known) {
    note_->clear();
  } else if (shown_.next->notches.empty()) {
    note_->setText(tr("No single change can be planned."));
  } else {
    const QString order = tr("Those that fit first, then the shortest step.");
    note_->setText(is_in_picture(*this) ? order : order + tr(" A double click takes a change."));
  }
}

}  // namespace shardscope
