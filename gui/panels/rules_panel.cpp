#include "gui/panels/rules_panel.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"
#include "gui/look/row_table.h"
#include "gui/workspace/array_facts.h"

namespace shardscope {

RulesPanel::RulesPanel(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      model_(new RulesModel(workspace, this)),
      table_(new QTableView(this)),
      delegate_(new RulesDelegate(this)),
      note_(new LineLabel(this)) {
  table_->setObjectName("rules");
  table_->setModel(model_);
  table_->setItemDelegate(delegate_);
  table_->setAccessibleName(tr("Rules"));
  table_->setContextMenuPolicy(Qt::ActionsContextMenu);
  table_->setEditTriggers(QAbstractItemView::EditKeyPressed | QAbstractItemView::DoubleClicked |
                          QAbstractItemView::AnyKeyPressed);
  table_->setWordWrap(false);
  table_->setTextElideMode(Qt::ElideMiddle);
  set_row_table(*table_, 24, {150, 300, 130, 260, 70, 70});
  table_->horizontalHeader()->setSectionResizeMode(RulesModel::names_column, QHeaderView::Stretch);
  note_->setFont(small_font());
  note_->setContentsMargins(8, 3, 8, 4);

  add_ = add_action(tr("Add rule"), tr("Adds a rule before the selected one, else at the end (Insert)."),
                    Qt::Key_Insert, [this] { add_rule_here(); });
  constrain_ = add_action(tr("Constrain activation"),
                          tr("Adds a constraint for the activation that is selected in Flow or Layout."), {},
                          [this] { constrain_selected(); });
  remove_ = add_action(tr("Remove"), tr("Removes the selected rules and constraints (Delete)."), Qt::Key_Delete,
                       [this] { remove_selected(); });
  up_ = add_action(tr("Up"), tr("An earlier line decides first (Alt+Up)."), Qt::ALT | Qt::Key_Up,
                   [this] { move_current(-1); });
  down_ = add_action(tr("Down"), tr("Moves the line behind the next one (Alt+Down)."), Qt::ALT | Qt::Key_Down,
                     [this] { move_current(1); });
  copy_ = add_action(tr("Copy placement"), tr("Copies what the selected lines do (Ctrl+C)."), QKeySequence::Copy,
                     [this] { copy(); });
  paste_ = add_action(tr("Paste placement"), tr("All selected lines do what was copied (Ctrl+V)."), QKeySequence::Paste,
                      [this] { paste(); });
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(6, 6, 6, 4);
  for (QAction* action : {add_, constrain_, remove_, up_, down_}) {
    auto* button = new QToolButton(this);
    button->setDefaultAction(action);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    bar->addWidget(button);
  }
  bar->addStretch(1);
  filled(tight(new QVBoxLayout(this)), {bar, {table_, 1}, note_});

  connect(delegate_, &RulesDelegate::faultChanged, this, [this](const QString& fault) {
    fault_ = fault;
    show_state();
  });
  connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, &RulesPanel::show_state);
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RulesPanel::show_state);
  connect(model_, &QAbstractItemModel::dataChanged, this, &RulesPanel::show_state);
  connect(model_, &QAbstractItemModel::modelReset, this, &RulesPanel::show_state);
  connect(&workspace.selection, &Selection::arrayChanged, this, &RulesPanel::show_state);
  show_state();
}

// An editor that is open ends after the panel, which is not informed any more.
RulesPanel::~RulesPanel() { disconnect(delegate_, nullptr, this, nullptr); }

QAction* RulesPanel::add_action(const QString& text, const QString& tip, const QKeySequence& key,
                                std::function<void()> act) {
  auto* action = new QAction(text, this);
  action->setToolTip(tip);
  action->setShortcut(key);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  // What is typed in a cell is for the line that the cell shows now.
  connect(action, &QAction::triggered, this, [this, act = std::move(act)] {
    if (!fault_.isEmpty()) return;
    table_->setFocus(Qt::OtherFocusReason);
    act();
  });
  table_->addAction(action);
  return action;
}

bool RulesPanel::focus_place(const QString& place) {
  const int row = model_->row_at(place);
  if (row < 0) return false;
  const QModelIndex cell = model_->index(row, RulesModel::placement_column);
  table_->setFocus(Qt::OtherFocusReason);
  table_->setCurrentIndex(cell);
  table_->edit(cell);
  return true;
}

void RulesPanel::select(SpecLine line) {
  const int row = model_->row_of(line);
  if (row < 0) return;
  const int column = std::max(table_->currentIndex().column(), static_cast<int>(RulesModel::names_column));
  table_->setCurrentIndex(model_->index(row, column));
}

void RulesPanel::add_rule_here() {
  const ShardingConfig& sharding = workspace_.document.config().sharding;
  const int row = current_row();
  const bool on_rule = row >= 0 && model_->line(row).section == SpecLine::Section::rules;
  const size_t index = on_rule ? model_->line(row).index : sharding.rules.size();
  add_rule(workspace_.document, index);
  select({SpecLine::Section::rules, index});
}

void RulesPanel::constrain_selected() {
  const auto* activation = std::get_if<ValueRef>(&workspace_.selection.array());
  const std::optional<ArrayFacts> facts = array_facts(workspace_, workspace_.selection.array());
  if (!activation || !facts) return;
  add_constraint(workspace_.document, activation->name, static_cast<int>(facts->shape.size()));
  const auto& constraints = workspace_.document.config().sharding.constraints;
  const auto added = std::ranges::find(constraints, activation->name, &Constraint::names);
  select({SpecLine::Section::constraints, static_cast<size_t>(added - constraints.begin())});
}

std::vector<SpecLine> RulesPanel::selected() const {
  std::vector<SpecLine> lines;
  for (const QModelIndex& row : table_->selectionModel()->selectedRows())
    if (row.row() < model_->rowCount()) lines.push_back(model_->line(row.row()));
  return lines;
}

void RulesPanel::remove_selected() {
  const int row = current_row();
  if (!remove_lines(workspace_.document, selected())) return;
  table_->setCurrentIndex(model_->index(std::min(row, model_->rowCount() - 1), RulesModel::names_column));
}

void RulesPanel::copy() {
  QStringList lines;
  for (const SpecLine line : selected())
    lines << qt(placement_text(facts_of(workspace_.document.config().sharding, line).placement));
  lines.removeDuplicates();
  if (!lines.isEmpty()) QGuiApplication::clipboard()->setText(lines.join('\n'));
}

void RulesPanel::paste() {
  const std::string text = QGuiApplication::clipboard()->text().toStdString();
  try {
    set_placement(workspace_.document, selected(), parse_placement(text));
  } catch (const Failure& failure) {
    workspace_.document.tell(tr("The clipboard has no placement: %1").arg(QString::fromUtf8(failure.what())));
  }
}

void RulesPanel::move_current(int by) {
  if (current_row() < 0) return;
  SpecLine line = model_->line(current_row());
  if (!move_line(workspace_.document, line, by)) return;
  line.index += static_cast<size_t>(by);
  select(line);
}

void RulesPanel::show_state() {
  const std::vector<SpecLine> chosen = selected();
  model_->edit_together(chosen);
  const bool free = std::ranges::any_of(chosen, is_free);
  remove_->setEnabled(free);
  for (QAction* action : {up_, down_}) action->setEnabled(free && chosen.size() == 1);
  for (QAction* action : {copy_, paste_}) action->setEnabled(!chosen.empty());
  const auto* activation = std::get_if<ValueRef>(&workspace_.selection.array());
  const auto& layouts = workspace_.planner.index().layout_named;
  const auto layout = activation ? layouts.find(activation->name) : layouts.end();
  const bool exists = layout != layouts.end() && !workspace_.planner.plan()->layouts[layout->second].shape.empty();
  constrain_->setEnabled(exists);
  QPalette colours = palette();
  colours.setColor(QPalette::WindowText, fault_.isEmpty() ? theme().muted : theme().error);
  note_->setPalette(colours);
  note_->set_line(fault_.isEmpty()
                      ? tr("The first line that speaks of an array decides. Bold: the line that decided the "
                           "selected array.")
                      : fault_);
}

}  // namespace shardscope
