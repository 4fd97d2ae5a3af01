#include "gui/pages/machine_page.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QVBoxLayout>

#include "engine/config/run_file_keys.h"
#include "engine/machine/chosen_stack.h"
#include "engine/machine/host_machine.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/bar_delegate.h"
#include "gui/look/field_guard.h"
#include "gui/look/filled_layout.h"
#include "gui/pages/machine_words.h"
#include "gui/workspace/machine_box.h"

namespace shardscope {

MachinePage::MachinePage(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      advice_(new QLabel(this)),
      move_(new QPushButton(this)),
      canvas_(new MachineCanvas(workspace, this)),
      traffic_(new MachineTraffic(workspace, this)),
      table_(new QTreeView(this)) {
  setObjectName("machinePage");
  make_table();
  advice_->setObjectName("machineAdvice");
  advice_->setWordWrap(true);
  move_->setObjectName("moveAxis");
  move_->setAccessibleName(tr("Put the axis innermost"));
  connect(move_, &QPushButton::clicked, this, [this] {
    if (const std::optional<AxisIndex> axis = traffic_->axis_to_move()) put_innermost(workspace_.document, *axis);
  });
  auto* below = new QHBoxLayout;
  below->setContentsMargins(10, 6, 10, 6);
  below->addWidget(advice_, 1);
  below->addWidget(move_);
  filled(tight(new QVBoxLayout(this)), {make_head(), {canvas_, 3}, {table_, 1}, below});
  connect(&workspace.planner, &Planner::delivered, this, &MachinePage::show_plan);
  connect(&workspace.document, &Document::configChanged, this, &MachinePage::show_choice);
  show_plan();
}

void MachinePage::showEvent(QShowEvent*) { show_plan(); }

QWidget* MachinePage::make_head() {
  auto* head = new QWidget(this);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(10, 4, 10, 4);
  auto* label = new QLabel(tr("Machine"), head);
  label->setProperty("muted", true);
  machines_ = make_machine_box(head);
  machines_->insertItem(0, qt(std::string(host_name)));
  machines_->setCurrentIndex(0);
  label->setBuddy(machines_);
  machines_->setObjectName("machineChoice");
  machines_->setAccessibleName(tr("Machine that plans are made for"));
  machines_->setMinimumContentsLength(16);
  const auto choose = [this] {
    const QString name = machines_->currentText().trimmed();
    machines_->lineEdit()->setModified(false);
    if (!name.isEmpty() && name != shown_) choose_machine(workspace_.document, name);
    else show_choice();
  };
  connect(machines_, &QComboBox::activated, this, choose);
  connect(machines_->lineEdit(), &QLineEdit::editingFinished, this, choose);
  auto* software = new QLabel(tr("Software"), head);
  software->setProperty("muted", true);
  stacks_ = new QComboBox(head);
  software->setBuddy(stacks_);
  stacks_->setObjectName("stackChoice");
  stacks_->setAccessibleName(tr("Software that runs the plan"));
  stacks_->setToolTip(
      tr("What runs the plan on that machine: predictions use its kernels, its overlap and its memory. Training here "
         "stays the same."));
  guard_field(stacks_);
  stacks_->addItem(qt(run_file::this_stack));
  for (const std::string_view name : stack_names()) stacks_->addItem(qt(name));
  connect(stacks_, &QComboBox::activated, this,
          [this](int index) { choose_stack(workspace_.document, stacks_->itemText(index)); });
  device_ = new LineLabel(head);
  device_->setObjectName("machineDevice");
  device_->setProperty("muted", true);
  row->addWidget(label);
  row->addWidget(machines_);
  row->addWidget(software);
  row->addWidget(stacks_);
  row->addWidget(device_, 1);
  return head;
}

void MachinePage::make_table() {
  table_->setObjectName("machineTraffic");
  table_->setAccessibleName(tr("What mesh axes move over which links"));
  table_->setModel(traffic_);
  table_->setMinimumHeight(48);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setAlternatingRowColors(true);
  table_->setUniformRowHeights(true);
  table_->setRootIsDecorated(false);
  table_->header()->setStretchLastSection(false);
  table_->header()->setSectionsMovable(false);
  table_->setItemDelegate(new CellDelegate(table_));
  table_->setItemDelegateForColumn(MachineTraffic::seconds_column,
                                   new BarDelegate(MachineTraffic::bar_role, BarDelegate::Ink::muted, table_));
  const int widths[] = {120, 100, 80, 84, 100, 150};
  for (int column = 0; column < MachineTraffic::columns; ++column) table_->setColumnWidth(column, widths[column]);
  connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& current) {
    canvas_->show_group(current.isValid() ? traffic_->axes(current.row()) : AxisList());
  });
}

void MachinePage::show_choice() {
  if (!isVisible()) return;
  const RunConfig& config = workspace_.document.config();
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  shown_ = plan ? qt(plan->machine.name) : QString();
  for (int i = 0; i < machines_->count(); ++i)
    if (machine_choice(machines_->itemText(i).toStdString()) == config.machine) shown_ = machines_->itemText(i);
  stacks_->setPlaceholderText(plan ? qt(plan->stack.name) : QString());
  stacks_->setCurrentIndex(-1);
  for (int i = 0; i < stacks_->count(); ++i)
    if (stack_choice(stacks_->itemText(i).toStdString()) == config.stack) stacks_->setCurrentIndex(i);
  const std::vector<Error> faults = errors_at(workspace_.planner.errors(), "machine");
  show_state(
      machines_, !faults.empty(), errors_text(faults),
      tr("What the plan is made for: this host, a machine by its name, or the path of a machine's file. A part of "
         "a name finds it."));
  const bool is_typed = machines_->lineEdit()->hasFocus() && machines_->lineEdit()->isModified();
  if (!faults.empty()) shown_.clear();
  else if (!is_typed && workspace_.planner.is_current()) machines_->setEditText(shown_);
}

// While nobody looks at the page a new plan is no work, and an old one is not kept.
void MachinePage::show_plan() {
  show_choice();
  const std::shared_ptr<const Plan> plan = isVisible() ? workspace_.planner.plan() : nullptr;
  canvas_->show_plan(plan);
  traffic_->show_plan(plan);
  const QString summary = plan ? device_summary(plan->machine) : QString();
  device_->setText(summary);
  device_->setToolTip(plan ? summary + "\n" + qt(plan->machine.source) : QString());
  const QString advice = traffic_->advice();
  advice_->setText(!advice.isEmpty() || !plan  ? advice
                   : traffic_->rowCount() == 0 ? tr("The devices exchange nothing in a step.")
                                               : tr("No mesh axis would be better off on other links."));
  const std::optional<AxisIndex> axis = traffic_->axis_to_move();
  move_->setVisible(axis.has_value());
  if (axis) {
    move_->setText(tr("Put %1 innermost").arg(qt(plan->mesh.axes()[*axis].name)));
    move_->setToolTip(tr("The last axis of the mesh runs over neighbouring devices, which have the fastest links."));
  }
}

}  // namespace shardscope
