#include "gui/panels/problems_panel.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QInputDialog>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"

namespace shardscope {
namespace {

constexpr int place_role = Qt::UserRole, finding_role = Qt::UserRole + 1,  // index of the finding, or none
    rule_role = Qt::UserRole + 2;

}  // namespace

ProblemsPanel::ProblemsPanel(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      list_(new QTreeWidget(this)),
      empty_(new QLabel(this)),
      state_(new LineLabel(this)),
      fix_(new QPushButton(tr("Fix"), this)),
      fix_all_(new QPushButton(tr("Fix all"), this)),
      off_(new QPushButton(tr("Turn off\u2026"), this)),
      bar_(new QWidget(this)),
      columns_(new SharedColumns(list_)) {
  list_->setObjectName("problems");
  list_->setAccessibleName(tr("Problems"));
  list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  list_->setContextMenuPolicy(Qt::ActionsContextMenu);
  add_action(tr("Go there"), tr("Gives the keyboard to the field that is wrong (Enter)."), {}, [this] {
    if (QTreeWidgetItem* item = list_->currentItem()) emit activated(item->data(0, place_role).toString());
  });
  add_action(tr("Copy problems"), tr("Copies the selected problems as text, else all of them (Ctrl+C)."),
             QKeySequence::Copy, [this] { copy(); });
  list_->setHeaderLabels({tr("Problem"), tr("Place"), tr("What would be right"), tr("Cost")});
  list_->setRootIsDecorated(false);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setUniformRowHeights(true);
  list_->setAllColumnsShowFocus(true);
  empty_->setObjectName("noProblems");
  empty_->setProperty("muted", true);
  empty_->setAlignment(Qt::AlignCenter);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(list_);
  layout->addWidget(empty_);
  fix_->setObjectName("fixFinding");
  fix_->setToolTip(tr("Changes the run file as the selected problem says; undo takes it back."));
  fix_all_->setObjectName("fixAllFindings");
  fix_all_->setToolTip(tr("Applies the fixes one after the other as long as they pay; one undo takes all back."));
  off_->setObjectName("turnRuleOff");
  off_->setToolTip(
      tr("The rule of the selected problem finds nothing in this run file any more; the reason is shown."));
  state_->setObjectName("findingsState");
  state_->setProperty("muted", true);
  filled(bordered(new QHBoxLayout(bar_), {8, 2, 8, 4}), {{state_, 1}, off_, fix_, fix_all_});
  layout->addWidget(bar_);
  connect(fix_, &QPushButton::clicked, this, [this] {
    const QTreeWidgetItem* item = list_->currentItem();
    const QVariant finding = item ? item->data(0, finding_role) : QVariant();
    if (finding.isValid()) workspace_.findings.fix(finding.toULongLong());
  });
  connect(off_, &QPushButton::clicked, this, &ProblemsPanel::turn_off);
  connect(fix_all_, &QPushButton::clicked, this, [this] { workspace_.findings.fix_all(); });
  connect(list_, &QTreeWidget::currentItemChanged, this, &ProblemsPanel::refresh_buttons);
  connect(&workspace.findings, &Findings::changed, this, &ProblemsPanel::refresh);
  connect(list_, &QTreeWidget::itemActivated, this,
          [this](QTreeWidgetItem* item) { emit activated(item->data(0, place_role).toString()); });
  connect(&workspace.planner, &Planner::delivered, this, &ProblemsPanel::refresh);
  connect(&workspace.planner, &Planner::requested, this, &ProblemsPanel::show_none);
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

QString ProblemsPanel::go(int by) {
  const int count = list_->topLevelItemCount(), now = list_->indexOfTopLevelItem(list_->currentItem());
  if (count == 0) return {};
  QTreeWidgetItem* item = list_->topLevelItem(now < 0 ? (by > 0 ? 0 : count - 1) : (now + by + count) % count);
  list_->setCurrentItem(item);
  emit activated(item->data(0, place_role).toString());
  return item->text(0);
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

QTreeWidgetItem* ProblemsPanel::add(const Error& error, bool is_error) {
  auto* item = new QTreeWidgetItem(list_, {qt(error.message), qt(to_string(error.place)), qt(error.hint)});
  item->setData(0, place_role, qt(error.place.path));
  item->setIcon(0, is_error ? error_icon_ : warning_icon_);
  item->setForeground(0, is_error ? theme().error : theme().warning);
  for (int column = 0; column < 3; ++column) item->setToolTip(column, item->text(column));
  return item;
}

void ProblemsPanel::add_findings() {
  const std::vector<Finding>& findings = workspace_.findings.list();
  for (size_t i = 0; i < findings.size(); ++i) {
    QTreeWidgetItem* item = add(to_error(findings[i]), false);
    if (findings[i].fix) item->setData(0, finding_role, qulonglong(i));
    item->setData(0, rule_role, qt(findings[i].rule));
    item->setText(3, qt(cost_text(findings[i])));
    for (const int column : {0, 3})
      item->setToolTip(column, tr("%1 (%2)").arg(item->text(column), qt(chapter(findings[i]))));
  }
  for (const Error& error : workspace_.findings.errors()) add(error, false);
}

void ProblemsPanel::refresh_buttons() {
  const Findings& findings = workspace_.findings;
  const QTreeWidgetItem* item = list_->currentItem();
  fix_->setEnabled(item && item->data(0, finding_role).isValid() && !findings.is_fixing());
  off_->setEnabled(item && item->data(0, rule_role).isValid());
  fix_all_->setEnabled(findings.fixable() > 0 && !findings.is_fixing());
  QStringList off;
  for (const auto& [rule, reason] : findings.off()) off << tr("%1 is off: %2").arg(qt(rule), qt(reason));
  const bool prices = findings.is_pricing();
  state_->set_line(findings.is_fixing() ? tr("Planning the fixes\u2026")
                   : prices             ? tr("Checking what could be better\u2026")
                                        : off.join("; "));
  show_none();
  const bool is_empty = list_->topLevelItemCount() == 0;  // which says that it is being checked
  bar_->setVisible((prices && !is_empty) || findings.is_fixing() || !findings.list().empty() || !off.isEmpty());
}

void ProblemsPanel::show_none() {
  empty_->setText(workspace_.planner.is_busy()       ? tr("Planning\u2026")
                  : workspace_.findings.is_pricing() ? tr("Checking what could be better\u2026")
                                                     : tr("No problems. The plan is legal."));
}

void ProblemsPanel::turn_off() {
  const QTreeWidgetItem* item = list_->currentItem();
  if (!item || !item->data(0, rule_role).isValid()) return;
  const QString rule = item->data(0, rule_role).toString();
  QInputDialog dialog(this);
  dialog.setObjectName("turnOffReason");
  dialog.setWindowTitle(tr("Turn off %1").arg(rule));
  dialog.setLabelText(tr("Why the rule does not hold for this run:"));
  if (dialog.exec() != QDialog::Accepted || dialog.textValue().trimmed().isEmpty()) return;
  turn_rule_off(workspace_.document, rule, dialog.textValue().trimmed());
}

void ProblemsPanel::refresh() {
  const QTreeWidgetItem* current = list_->currentItem();
  const QStringList kept = current ? QStringList{current->text(0), current->text(1)} : QStringList();
  list_->clear();
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  for (const Error& error : file_errors_) add(error, true);
  for (const Error& error : workspace_.planner.errors()) add(error, true);
  const int errors = list_->topLevelItemCount();
  if (plan && workspace_.planner.errors().empty()) {
    const std::vector<Finding>& findings = workspace_.findings.list();
    for (const Error& warning : plan->warnings)
      if (std::ranges::find(findings, warning.code, &Finding::rule) == findings.end()) add(warning, false);
    add_findings();
  }
  const int all = list_->topLevelItemCount();
  for (int row = 0; row < all && !kept.isEmpty(); ++row)
    if (QTreeWidgetItem* item = list_->topLevelItem(row); kept == QStringList{item->text(0), item->text(1)})
      list_->setCurrentItem(item);
  columns_->share();
  list_->setVisible(all > 0);
  empty_->setVisible(all == 0);
  refresh_buttons();
  emit countChanged(errors, all - errors);
}

}  // namespace shardscope
