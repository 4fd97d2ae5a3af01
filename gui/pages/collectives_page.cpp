#include "gui/pages/collectives_page.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QSet>
#include <QShortcut>
#include <QVBoxLayout>

#include "gui/look/bar_delegate.h"
#include "gui/look/field_guard.h"
#include "gui/look/filled_layout.h"
#include "gui/look/name_delegate.h"

namespace shardscope {

CollectivesPage::CollectivesPage(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      comparison_(new ModeComparison(workspace, this)),
      model_(new CollectivesModel(workspace, this)),
      table_(new QTreeView(this)),
      totals_(new QLabel(this)),
      empty_(new QLabel(this)) {
  make_table();
  totals_->setContentsMargins(10, 6, 10, 6);
  totals_->setObjectName("collectiveTotals");
  totals_->setProperty("footer", true);
  totals_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  totals_->setWordWrap(true);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->hide();

  filled(tight(new QVBoxLayout(this)), {comparison_, make_head(), {table_, 1}, {empty_, 1}, totals_});
  connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, &CollectivesPage::choose);
  connect(&workspace.selection, &Selection::stepChanged, this, &CollectivesPage::follow_step);
  connect(&workspace.planner, &Planner::delivered, this, &CollectivesPage::show_totals);
  connect(&workspace.run, &RunControl::received, this, &CollectivesPage::show_totals);
}

QWidget* CollectivesPage::make_head() {
  auto* head = new QWidget(this);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(10, 4, 10, 4);
  auto* label = new QLabel(tr("Group by"), head);
  label->setProperty("muted", true);
  groups_ = new QComboBox(head);
  label->setBuddy(groups_);
  groups_->setObjectName("collectiveGroups");
  groups_->setProperty("silent", true);  // in a picture: the table shows its groups
  groups_->setAccessibleName(tr("Group collectives by"));
  groups_->setToolTip(tr("Sum up the collectives of one kind, over the same mesh axes, of a layer or of an array."));
  guard_field(groups_);
  groups_->addItems({tr("nothing"), tr("kind"), tr("mesh axes"), tr("layer"), tr("array")});
  connect(groups_, &QComboBox::currentIndexChanged, this, [this](int groups) {
    model_->group_by(static_cast<CollectiveGroups>(groups));
    table_->setRootIsDecorated(groups > 0);
    follow_step();
  });
  filter_ = new QLineEdit(head);
  filter_->setObjectName("collectiveFilter");
  filter_->setPlaceholderText(tr("Filter  (/)"));
  filter_->setAccessibleName(tr("Filter collectives"));
  filter_->setToolTip(tr("Words of kinds, arrays, ops, mesh axes or phases; a row has all of them."));
  filter_->setClearButtonEnabled(true);
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    model_->filter(text);
    show_totals();
    follow_step();
  });
  auto* find = new QShortcut(QKeySequence("/"), this);
  find->setContext(Qt::WidgetWithChildrenShortcut);
  connect(find, &QShortcut::activated, filter_, [this] {
    filter_->setFocus(Qt::ShortcutFocusReason);
    filter_->selectAll();
  });
  row->addWidget(label);
  row->addWidget(groups_);
  row->addStretch(1);
  row->addWidget(filter_, 2);
  return head;
}

void CollectivesPage::make_table() {
  table_->setObjectName("collectives");
  table_->setAccessibleName(tr("Collectives"));
  table_->setModel(model_);
  table_->header()->setSortIndicator(CollectivesModel::wire_column, Qt::DescendingOrder);
  table_->setSortingEnabled(true);
  table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setAlternatingRowColors(true);
  table_->setUniformRowHeights(true);
  table_->setRootIsDecorated(false);
  table_->header()->setStretchLastSection(true);
  table_->header()->setSectionsMovable(false);
  table_->setItemDelegate(new CellDelegate(table_));
  using Ink = BarDelegate::Ink;
  for (const int column : {CollectivesModel::array_column, CollectivesModel::op_column})
    table_->setItemDelegateForColumn(column, new NameDelegate(table_));
  for (const auto& [column, ink] : {std::pair(CollectivesModel::wire_column, Ink::accent),
                                    {CollectivesModel::payload_column, Ink::accent},
                                    {CollectivesModel::predicted_column, Ink::muted},
                                    {CollectivesModel::measured_column, Ink::accent},
                                    {CollectivesModel::waited_column, Ink::warning}})
    table_->setItemDelegateForColumn(column, new BarDelegate(CollectivesModel::bar_role, ink, table_));
  const int widths[] = {150, 200, 84, 80, 82, 82, 76, 54, 80, 74, 52, 220, 320};
  for (int column = 0; column < CollectivesModel::columns; ++column) table_->setColumnWidth(column, widths[column]);
  table_->installEventFilter(this);
}

void CollectivesPage::showEvent(QShowEvent*) {
  model_->set_shown(true);
  show_totals();
  follow_step();
}

void CollectivesPage::hideEvent(QHideEvent*) { model_->set_shown(false); }

void CollectivesPage::show_totals() {
  if (!model_->is_shown()) return;
  totals_->setText(model_->totals_text());
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const bool nothing = plan && model_->rowCount() == 0, filtered = nothing && !filter_->text().isEmpty();
  const auto hide = [this](int column, bool hidden) {
    if (table_->isColumnHidden(column) != hidden) table_->setColumnHidden(column, hidden);
  };
  hide(CollectivesModel::stage_column, !plan || plan->program.stages == 1);
  hide(CollectivesModel::times_column, !plan || plan->pipeline.shape.microbatches == 1);
  for (const int column : {CollectivesModel::measured_column, CollectivesModel::waited_column})
    hide(column, !workspace_.matching_run());
  empty_->setText(filtered ? tr("<b>Nothing is found</b><br>No collective has all these words.")
                           : tr("<b>Nothing is moved</b><br>With these specs no device needs what another one holds."));
  table_->setVisible(!nothing);
  empty_->setVisible(nothing);
  table_->setEnabled(workspace_.planner.is_current() || workspace_.planner.is_busy());
}

void CollectivesPage::choose(const QModelIndex& index) {
  const QVariant step = index.data(CollectivesModel::step_role);
  if (is_following_ || !step.isValid()) return;
  const auto id = step.value<StepRef>();
  workspace_.select_step(id);
  const ArrayRef array = model_->array_of(id);
  if (is_array(array)) workspace_.selection.select_array(array);
}

void CollectivesPage::follow_step() {
  const QModelIndex index = model_->index_of_step(workspace_.selection.step());
  if (!index.isValid()) {
    table_->selectionModel()->clear();
    return;
  }
  is_following_ = true;
  if (table_->currentIndex().siblingAtColumn(0) != index) table_->setCurrentIndex(index);
  is_following_ = false;
  table_->scrollTo(index);
}

QString CollectivesPage::copied_text() const {
  QStringList lines, titles;
  std::vector<int> columns;
  for (int column = 0; column < CollectivesModel::columns; ++column)
    if (!table_->isColumnHidden(column)) columns.push_back(column);
  for (const int column : columns) titles << model_->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
  lines << titles.join('\t');
  const QModelIndexList rows = table_->selectionModel()->selectedRows();
  const QSet<QModelIndex> chosen(rows.begin(), rows.end());
  const auto add = [&](const QModelIndex& row) {
    QStringList cells;
    for (const int column : columns)
      cells << model_->exact_text(row.siblingAtColumn(column)).replace('\n', "; ").replace('\t', ' ');
    lines << cells.join('\t');
  };
  for (int top = 0; top < model_->rowCount(); ++top) {
    const QModelIndex above = model_->index(top, 0);
    const bool all = chosen.isEmpty() || chosen.contains(above);
    if (model_->groups() == CollectiveGroups::none && all) add(above);
    for (int row = 0; row < model_->rowCount(above); ++row)
      if (const QModelIndex child = model_->index(row, 0, above); all || chosen.contains(child)) add(child);
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
