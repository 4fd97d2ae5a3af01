#include "gui/compare/changes_tab.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>

#include "engine/compare/difference_rows.h"
#include "gui/document/text.h"
#include "gui/look/filled_layout.h"

namespace shardscope {
namespace {

constexpr int most_unfolded = 12;  // of a section; those that changed less are folded up

enum Column { name_column, before_column, after_column, change_column, columns };

QList<QStandardItem*> items_of(const DifferenceRow& row) {
  QList<QStandardItem*> items;
  for (const std::string& text : {row.name, row.before, row.after, row.change}) {
    auto* item = new QStandardItem(qt(text));
    item->setToolTip(qt(text));
    item->setEditable(false);
    if (!items.isEmpty() && !row.change.empty()) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    items.append(item);
  }
  return items;
}

QStandardItem* heading(const QString& text) {
  auto* item = new QStandardItem(text);
  item->setEditable(false);
  return item;
}

}  // namespace

ChangesTab::ChangesTab(Workspace& workspace, PinnedPlans& pins, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      pins_(pins),
      from_(new QComboBox(this)),
      step_(new QLabel(this)),
      none_(new EmptyNote(this)),
      model_(new QStandardItemModel(this)),
      tree_(new QTreeView(this)),
      comparing_([this](const PlanDifference& difference) { show_difference(difference); }) {
  from_->setObjectName("changesFrom");
  from_->setAccessibleName(tr("Pinned plan that the shown one is compared with"));
  step_->setObjectName("changesOfStep");
  step_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  tree_->setObjectName("changes");
  tree_->setAccessibleName(tr("What changed from the pinned plan to the shown one"));
  tree_->setModel(model_);
  tree_->setFrameShape(QFrame::NoFrame);
  tree_->setAlternatingRowColors(true);
  tree_->setUniformRowHeights(true);
  tree_->setTextElideMode(Qt::ElideMiddle);
  tree_->header()->setMinimumSectionSize(60);

  auto* from = new QLabel(tr("&From plan"), this);
  from->setBuddy(from_);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(10, 8, 10, 6);
  bar->addWidget(from);
  bar->addSpacing(6);
  bar->addWidget(from_);
  bar->addSpacing(6);
  bar->addWidget(new QLabel(tr("to the shown one"), this));
  bar->addSpacing(12);
  bar->addWidget(step_, 1);
  filled(tight(new QVBoxLayout(this)), {bar, {tree_, 1}, {none_, 1}});
  connect(from_, &QComboBox::currentIndexChanged, this, &ChangesTab::compare);
  connect(&pins, &PinnedPlans::changed, this, &ChangesTab::list_pins);
  connect(&workspace.planner, &Planner::delivered, this, &ChangesTab::compare);
  list_pins();
}

void ChangesTab::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  compare();
}

void ChangesTab::list_pins() {
  const QVariant chosen = from_->currentData();
  {
    const QSignalBlocker blocker(from_);
    from_->clear();
    for (int place = 0; place < PinnedPlans::count; ++place)
      if (pins_.at(place)) from_->addItem(pins_.name(place), place);
    from_->setCurrentIndex(std::max(0, from_->findData(chosen)));
  }
  from_->setEnabled(from_->count() > 0);
  if (model_->columnCount() > 0) model_->setHeaderData(before_column, Qt::Horizontal, from_->currentText());
  compare();
}

void ChangesTab::compare() {
  const PinnedPlan* pin = from_->count() > 0 ? pins_.at(from_->currentData().toInt()) : nullptr;
  const std::shared_ptr<const Plan> before = pin ? pin->plan : nullptr, after = workspace_.planner.plan();
  if (!isVisible()) {
    comparing_.cancel();
    before_.reset();
    after_.reset();
    return;
  }
  if (before && before == before_ && after == after_) return;
  before_ = before;
  after_ = before ? after : nullptr;
  if (before_ && after_) {
    comparing_.make([before, after](const std::stop_token&) { return difference_of(*before, *after); });
  } else {
    comparing_.cancel();
    show_state(before_ ? tr("There is no plan yet.")
                       : tr("<b>Nothing is pinned</b><br>Pin this plan (Ctrl+P), then change the mesh or a spec: what "
                            "that changes in time, memory and collectives stands here."));
  }
}

void ChangesTab::show_state(const QString& text) {
  model_->clear();
  step_->clear();
  none_->setText(text);
  none_->setVisible(true);
  tree_->setVisible(false);
}

void ChangesTab::show_difference(const PlanDifference& difference) {
  model_->clear();
  model_->setHorizontalHeaderLabels({tr("What"), from_->currentText(), tr("Shown"), tr("Change")});
  for (const DifferenceSection& section : difference_sections(difference)) {
    if (section.rows.empty()) continue;
    QStandardItem* title = heading(qt(section.title));
    QFont font = tree_->font();
    font.setBold(true);
    title->setFont(font);
    QStandardItem* parent = title;
    for (const DifferenceRow& row : section.rows) {
      if (parent == title && title->rowCount() == most_unfolded && std::ssize(section.rows) > most_unfolded + 1) {
        parent = heading(tr("%1 more").arg(std::ssize(section.rows) - most_unfolded));
        title->appendRow(parent);
      }
      parent->appendRow(items_of(row));
    }
    model_->appendRow(title);
    tree_->setFirstColumnSpanned(title->row(), {}, true);
    tree_->expand(title->index());
  }
  if (model_->rowCount() == 0) {
    show_state(tr("<b>Nothing differs</b><br>between the pinned plan and the shown one."));
    return;
  }
  step_->setText(qt(step_difference_text(difference)));
  none_->setVisible(false);
  tree_->setVisible(true);
  tree_->header()->setSectionResizeMode(name_column, QHeaderView::Stretch);
  const int width = tree_->fontMetrics().horizontalAdvance("P('data', None)") + 16;
  for (int column = before_column; column < columns; ++column) tree_->header()->resizeSection(column, width);
  tree_->header()->setStretchLastSection(false);
}

}  // namespace shardscope
