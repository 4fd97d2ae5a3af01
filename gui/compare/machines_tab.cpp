#include "gui/compare/machines_tab.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QSettings>
#include <QVBoxLayout>

#include "engine/compile/file_paths.h"
#include "engine/machine/host_machine.h"
#include "gui/compare/side_by_side.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"
#include "gui/look/in_picture.h"
#include "gui/look/key_help.h"
#include "gui/workspace/machine_box.h"

namespace shardscope {
namespace {

const char* const setting = "compare/machines";
constexpr int most_machines = 12;

QStringList usual_machines() { return {"dgx_a100_80gb", "dgx_h100", "tpu_v5p"}; }

}  // namespace

MachinesTab::MachinesTab(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      sweep_(workspace.planner.source()),
      model_(new MachinesModel(sweep_, workspace.document, this)),
      others_(QSettings().value(setting, usual_machines()).toStringList()),
      names_(make_machine_box(this)),
      add_(new QPushButton(tr("Add"), this)),
      remove_(new QPushButton(tr("Remove"), this)),
      plan_(new QPushButton(this)),
      take_(new QPushButton(tr("Take this machine"), this)),
      progress_(new QProgressBar(this)),
      table_(new QTableView(this)),
      note_(new FooterNote(this)) {
  names_->setObjectName("machineToAdd");
  names_->setAccessibleName(tr("Machine to compare with"));
  names_->setMinimumContentsLength(14);
  add_->setObjectName("addMachine");
  add_->setToolTip(tr("Another column, for this machine (Enter)."));
  remove_->setObjectName("removeMachine");
  remove_->setToolTip(tr("The selected machine is compared no more."));
  plan_->setObjectName("machinesStart");
  take_->setObjectName("machinesTake");
  take_->setToolTip(
      tr("The document has the selected machine (Enter or double click); undo brings the other one back."));
  progress_->setObjectName("machinesProgress");
  progress_->setTextVisible(false);
  progress_->setMaximumWidth(100);
  progress_->setMaximumHeight(10);
  progress_->setAccessibleName(tr("Machines that are planned for"));
  table_->setObjectName("comparedMachines");
  table_->setAccessibleName(tr("The strategy on several machines"));
  table_->setModel(model_);
  table_->setSelectionBehavior(QAbstractItemView::SelectColumns);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  set_side_by_side(table_);
  table_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  set_key_help(table_, tr("Machines"), {{tr("Enter"), tr("take the selected machine, or set its price")}});

  auto* bar =
      filled(bordered(new QHBoxLayout, {10, 8, 10, 6}), {names_, add_, remove_, spacer, progress_, plan_, take_});
  filled(tight(new QVBoxLayout(this)), {bar, {table_, 1}, note_});

  connect(add_, &QPushButton::clicked, this, &MachinesTab::add);
  connect(names_->lineEdit(), &QLineEdit::returnPressed, this, &MachinesTab::add);
  connect(names_, &QComboBox::editTextChanged, this, [this] { say_fault({}); });
  connect(remove_, &QPushButton::clicked, this, &MachinesTab::remove);
  connect(plan_, &QPushButton::clicked, this, [this] { sweep_.is_running() ? sweep_.cancel() : start(); });
  connect(take_, &QPushButton::clicked, this, [this] { take(column()); });
  connect(table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    if (!edit_price(index)) take(index.column());
  });
  connect(table_, &QTableView::clicked, this, &MachinesTab::edit_price);
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &MachinesTab::show_state);
  connect(&workspace.document, &Document::replaced, &sweep_, &PlanSweep::forget);
  connect(&workspace.document, &Document::configChanged, this, &MachinesTab::show_state);
  for (const auto signal : {&PlanSweep::started, &PlanSweep::ended})
    connect(&sweep_, signal, this, &MachinesTab::show_state);
  connect(&sweep_, &PlanSweep::planned, this, &MachinesTab::show_state);
  connect(&workspace.planner, &Planner::delivered, this, [this] { show_columns(); });
  connect(&look(), &Look::changed, this, &MachinesTab::show_state);
  say_fault({});
  show_columns();
}

int MachinesTab::column() const {
  const QModelIndexList columns = table_->selectionModel()->selectedColumns();
  return columns.isEmpty() ? -1 : columns.front().column();
}

void MachinesTab::set_others(const QStringList& names, const QString& removed) {
  others_ = names;
  QSettings().setValue(setting, others_);
  show_columns(removed);
}

void MachinesTab::say_fault(const QString& fault) {
  fault_ = fault;
  mark_invalid(names_, !fault.isEmpty());
  names_->setToolTip(fault.isEmpty()
                         ? tr("A machine by its name, or the path of a machine's file. A part of a name finds it.")
                         : fault);
  show_state();
}

void MachinesTab::add() {
  const QString name = names_->currentText().trimmed();
  if (name.isEmpty()) return;
  if (model_->machines().contains(name)) return say_fault(tr("%1 is compared already").arg(name));
  if (others_.size() >= most_machines) return say_fault(tr("%1 machines are compared at most").arg(most_machines));
  try {
    find_machine(name.toStdString());
  } catch (const Failure& failure) {
    const QString fault = errors_text(failure.errors());
    return say_fault(fault.contains(name) ? fault : name + ": " + fault);
  }
  set_others(others_ + QStringList{name});
}

void MachinesTab::remove() {
  const int chosen = column();
  if (!is_other(chosen)) return;
  QStringList names = others_;
  const QString removed = model_->machines()[chosen];
  names.removeAll(removed);
  set_others(names, removed);
}

void MachinesTab::start() {
  swept_ = workspace_.document.config();
  std::vector<RunConfig> configs;
  for (int column = 0; column < model_->columnCount(); ++column) configs.push_back(config_of(column));
  sweep_.start(std::move(configs));
}

bool MachinesTab::is_of_shown_config() const {
  RunConfig own = swept_;
  own.machine = workspace_.document.config().machine;
  return own == workspace_.document.config();
}

QString MachinesTab::shown_machine() const {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  return plan ? qt(plan->machine.name) : tr("shown");
}

bool MachinesTab::is_other(int column) const {
  return column >= 0 && column < model_->columnCount() && model_->machines()[column] != shown_machine();
}

// A machine that was shown before keeps what the document had changed of it.
RunConfig MachinesTab::config_of(int column) const {
  RunConfig config = workspace_.document.config();
  if (!is_other(column)) return config;
  if (column >= std::ssize(sweep_.plans())) return with_machine(config, model_->machines()[column].toStdString());
  config.machine = sweep_.plans()[static_cast<size_t>(column)].config.machine;
  return config;
}

void MachinesTab::take(int chosen) {
  if (is_other(chosen)) workspace_.document.edit(config_of(chosen), tr("machine %1").arg(model_->machines()[chosen]));
}

// Of a cell of the price, or of what it would tell.
bool MachinesTab::edit_price(const QModelIndex& cell) {
  const bool tells = cell.row() == MachinesModel::cost_row && cell.data() == QString(QChar(0x2013));
  if (cell.row() != MachinesModel::price_row && !tells) return false;
  const QModelIndex price = cell.siblingAtRow(MachinesModel::price_row);
  table_->setCurrentIndex(price);
  table_->edit(price);
  return true;
}

// What is planned stays; of another machine the plan that the others are of is made.
void MachinesTab::show_columns(const QString& removed) {
  const QString shown = shown_machine();
  QStringList names;
  for (const QString& name : model_->machines())
    if (name == shown || others_.contains(name) || (!sweep_.plans().empty() && name != removed)) names << name;
  for (const QString& name : others_)
    if (!names.contains(name)) names << name;
  if (!names.contains(shown)) names.prepend(shown);
  if (names != model_->machines()) {
    std::vector<SweptPlan> plans;
    for (const QString& name : names) {
      const auto at = static_cast<size_t>(model_->machines().indexOf(name));
      if (at < sweep_.plans().size()) plans.push_back(sweep_.plans()[at]);
      else plans.emplace_back().config = with_machine(swept_, name.toStdString());
    }
    const bool any = !sweep_.plans().empty();
    model_->set_machines(names);
    if (any) sweep_.go_through(std::move(plans));
  }
  show_state();
}

void MachinesTab::show_state() {
  const bool running = sweep_.is_running(), any = !sweep_.plans().empty();
  const bool is_old = any && !is_of_shown_config();
  plan_->setText(running ? tr("Cancel") : tr("Plan %1").arg(counted_text(model_->columnCount(), "machine")));
  plan_->setToolTip(running ? tr("Ends the planning; what is known stays.")
                            : tr("Plans the strategy for each machine in the background."));
  progress_->setVisible(running);
  progress_->setRange(0, static_cast<int>(sweep_.plans().size()));
  progress_->setValue(sweep_.done());
  const int chosen = column();
  remove_->setEnabled(is_other(chosen));
  take_->setEnabled(is_other(chosen));
  table_->setEnabled(!is_old);
  note_->set_out_of_date(is_old);
  if (!fault_.isEmpty()) {
    note_->setText(fault_);
  } else if (running) {
    note_->setText(tr("planned: %1 of %2").arg(sweep_.done()).arg(counted_text(std::ssize(sweep_.plans()), "machine")));
  } else if (is_old) {
    note_->setText(tr("Out of date: %1 has changed since. Plan the machines again.").arg(workspace_.document.title()));
  } else if (!any) {
    note_->setText(tr("The same strategy on other machines: does it fit, how long is a step, what does it cost?"));
  } else if (is_in_picture(*this)) {
    note_->setText(tr("Green: the best of those on which it fits and that measurements back."));
  } else {
    note_->setText(
        tr("Green: the best of those on which it fits and that measurements back. A double click takes a machine."));
  }
}

}  // namespace shardscope
