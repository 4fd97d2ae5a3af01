#include "gui/pages/collectives_page.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/look/appearance.h"
#include "gui/look/name_delegate.h"

namespace shardscope {
CollectivesPage::CollectivesPage(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      comparison_(new ModeComparison(workspace, this)),
      model_(new CollectivesModel(workspace, this)),
      table_(new QTableView(this)),
      totals_(new QLabel(this)),
      empty_(new QLabel(this)) {
  table_->setObjectName("collectives");
  table_->setModel(model_);
  table_->horizontalHeader()->setSortIndicator(CollectivesModel::wire_column, Qt::DescendingOrder);
  table_->setSortingEnabled(true);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setShowGrid(false);
  table_->setAlternatingRowColors(true);
  table_->setWordWrap(false);
  table_->setItemDelegateForColumn(CollectivesModel::op_column, new NameDelegate(table_));
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(24);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setStretchLastSection(true);
  const int widths[] = {112, 84, 72, 72, 76, 78, 74, 58, 250, 320};
  for (int column = 0; column < CollectivesModel::columns; ++column) table_->setColumnWidth(column, widths[column]);
  table_->installEventFilter(this);
  totals_->setContentsMargins(10, 6, 10, 6);
  totals_->setObjectName("collectiveTotals");
  totals_->setProperty("footer", true);
  totals_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  totals_->setWordWrap(true);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setText(tr("<b>Nothing is moved</b><br>With these specs no device needs what another one holds."));
  empty_->hide();

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(comparison_);
  layout->addWidget(table_, 1);
  layout->addWidget(empty_, 1);
  layout->addWidget(totals_);
  connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
    if (index.isValid()) workspace_.select_step(index.data(CollectivesModel::step_role).value<StepRef>());
  });
  connect(&workspace.selection, &Selection::stepChanged, this, &CollectivesPage::follow_step);
  connect(&workspace.planner, &Planner::delivered, this, &CollectivesPage::show_totals);
  connect(&workspace.run, &RunControl::received, this, &CollectivesPage::show_totals);
  show_totals();
}

void CollectivesPage::show_totals() {
  totals_->setText(model_->totals_text());
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  table_->setColumnHidden(CollectivesModel::stage_column, !plan || plan->program.stages == 1);
  const bool nothing = workspace_.planner.plan() && model_->rowCount() == 0;
  table_->setVisible(!nothing);
  empty_->setVisible(nothing);
  table_->setEnabled(workspace_.planner.is_current() || workspace_.planner.is_busy());
}

void CollectivesPage::follow_step() {
  const int row = model_->row_of_step(workspace_.selection.step());
  if (row < 0) {
    table_->clearSelection();
    return;
  }
  const QModelIndex index = model_->index(row, 0);
  if (table_->currentIndex().row() != index.row()) table_->setCurrentIndex(index);
  table_->scrollTo(index);
}

QString CollectivesPage::copied_text() const {
  QStringList lines, titles;
  std::vector<int> columns;
  for (int column = 0; column < CollectivesModel::columns; ++column)
    if (!table_->isColumnHidden(column)) columns.push_back(column);
  for (const int column : columns) titles << model_->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
  lines << titles.join('\t');
  QModelIndexList rows = table_->selectionModel()->selectedRows();
  std::ranges::sort(rows, {}, &QModelIndex::row);
  if (rows.isEmpty())
    for (int row = 0; row < model_->rowCount(); ++row) rows << model_->index(row, 0);
  for (const QModelIndex& index : rows) {
    QStringList cells;
    for (const int column : columns) cells << model_->exact_text(index.row(), column).replace('\n', "; ");
    lines << cells.join('\t');
  }
  lines << model_->totals_text();
  return lines.join('\n') + '\n';
}

bool CollectivesPage::eventFilter(QObject* watched, QEvent* event) {
  if (watched == table_ && event->type() == QEvent::KeyPress &&
      static_cast<QKeyEvent*>(event)->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(copied_text());
    return true;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace shardscope
