#include "gui/panels/problems_panel.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QVBoxLayout>

#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr int place_role = Qt::UserRole;

}  // namespace

ProblemsPanel::ProblemsPanel(Workspace& workspace, QWidget* parent)
    : QWidget(parent), workspace_(workspace), list_(new QTreeWidget(this)), empty_(new QLabel(this)) {
  list_->setObjectName("problems");
  list_->setAccessibleName(tr("Problems"));
  list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  list_->setContextMenuPolicy(Qt::ActionsContextMenu);
  add_action(tr("Go there"), tr("Gives the keyboard to the field that is wrong (Enter)."), {}, [this] {
    if (QTreeWidgetItem* item = list_->currentItem()) emit activated(item->data(0, place_role).toString());
  });
  add_action(tr("Copy problems"), tr("Copies the selected problems as text, else all of them (Ctrl+C)."),
             QKeySequence::Copy, [this] { copy(); });
  list_->setHeaderLabels({tr("Problem"), tr("Place"), tr("What would be right")});
  list_->setRootIsDecorated(false);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setUniformRowHeights(true);
  list_->setAllColumnsShowFocus(true);
  list_->setColumnWidth(0, 460);
  list_->setColumnWidth(1, 300);
  empty_->setText(tr("No problems. The plan is legal."));
  empty_->setProperty("muted", true);
  empty_->setAlignment(Qt::AlignCenter);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(list_);
  layout->addWidget(empty_);
  connect(list_, &QTreeWidget::itemActivated, this,
          [this](QTreeWidgetItem* item) { emit activated(item->data(0, place_role).toString()); });
  connect(&workspace.planner, &Planner::delivered, this, &ProblemsPanel::refresh);
  connect(&workspace.document, &Document::configChanged, this, [this] { file_errors_.clear(); });
  connect(&look(), &Look::changed, this, &ProblemsPanel::take_look);
  take_look();
}

void ProblemsPanel::add_action(const QString& text, const QString& tip, const QKeySequence& key,
                               std::function<void()> act) {
  auto* action = new QAction(text, this);
  action->setToolTip(tip);
  action->setShortcut(key);
  action->setShortcutContext(Qt::WidgetShortcut);
  connect(action, &QAction::triggered, this, std::move(act));
  list_->addAction(action);
}

void ProblemsPanel::copy() const {
  QStringList lines;
  for (int row = 0; row < list_->topLevelItemCount(); ++row) {
    const QTreeWidgetItem* item = list_->topLevelItem(row);
    if (!list_->selectedItems().isEmpty() && !item->isSelected()) continue;
    QStringList parts;
    for (const int column : {1, 0, 2})
      if (!item->text(column).isEmpty()) parts << item->text(column);
    lines << parts.join(": ");
  }
  QGuiApplication::clipboard()->setText(lines.join('\n'));
}

void ProblemsPanel::take_look() {
  error_icon_ = themed_icon("error");
  warning_icon_ = themed_icon("warning");
  refresh();
}

void ProblemsPanel::show_file_errors(const std::vector<Error>& errors) {
  file_errors_ = errors;
  refresh();
}

void ProblemsPanel::add(const Error& error, bool is_error) {
  auto* item = new QTreeWidgetItem(list_, {qt(error.message), qt(to_string(error.place)), qt(error.hint)});
  item->setData(0, place_role, qt(error.place.path));
  item->setIcon(0, is_error ? error_icon_ : warning_icon_);
  item->setForeground(0, is_error ? theme().error : theme().warning);
  for (int column = 0; column < 3; ++column) item->setToolTip(column, item->text(column));
}

void ProblemsPanel::refresh() {
  list_->clear();
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  for (const Error& error : file_errors_) add(error, true);
  for (const Error& error : workspace_.planner.errors()) add(error, true);
  const int errors = list_->topLevelItemCount();
  if (plan && workspace_.planner.errors().empty()) {
    for (const Error& warning : plan->warnings) add(warning, false);
    for (const Error& said : workspace_.planner.index().advice) add(said, false);
  }
  const int all = list_->topLevelItemCount();
  list_->setVisible(all > 0);
  empty_->setVisible(all == 0);
  emit countChanged(errors, all - errors);
}

}  // namespace shardscope
