#include "gui/window/tool_bar.h"

#include <QEvent>
#include <QLayout>
#include <QSignalBlocker>
#include <utility>

#include "gui/document/edits.h"
#include "gui/look/field_guard.h"
#include "gui/window/presets.h"

namespace shardscope {
namespace {

constexpr int roomy_width = 1120;  // from here on there is room for words
constexpr int around_words = 38;   // in a box to choose from

}  // namespace

ToolBar::ToolBar(const Actions& actions, Workspace& workspace, QWidget* parent)
    : QToolBar(tr("Main"), parent),
      mesh_bar_(new MeshBar(workspace, this)),
      second_(new QToolBar(tr("Mesh"), parent)),
      strategy_bar_(new StrategyBar(workspace, this)),
      strategy_line_(new QToolBar(tr("Strategy"), parent)),
      mode_(make_mode(workspace.document)) {
  setObjectName("toolBar");
  setMovable(false);
  setIconSize({18, 18});
  addActions({actions.open, actions.save});
  addSeparator();
  addActions({actions.undo, actions.redo});
  addSeparator();
  add_button(actions.train);
  add_button(actions.stop);
  addSeparator();
  mesh_action_ = addWidget(mesh_bar_);
  behind_mesh_ = addSeparator();
  second_->setObjectName("meshToolBar");
  second_->setMovable(false);
  // A line's first widget is never behind its button: the mesh would bound the width of the window.
  second_->addWidget(new QWidget(second_));
  second_->hide();
  strategy_line_->setObjectName("strategyToolBar");
  strategy_line_->setMovable(false);
  strategy_line_->addWidget(new QWidget(strategy_line_));
  strategy_line_->addWidget(strategy_bar_);
  strategy_line_->setVisible(workspace.document.config().strategy.has_value());
  connect(strategy_bar_, &StrategyBar::presenceChanged, strategy_line_, &QToolBar::setVisible);
  mesh_bar_->installEventFilter(this);
  addWidget(mode_);
  addWidget(make_preset());
}

void ToolBar::add_button(QAction* action) {
  addAction(action);
  auto* button = static_cast<QToolButton*>(widgetForAction(action));
  button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  button->setObjectName(action->objectName() + "Button");
}

QComboBox* ToolBar::make_mode(Document& document) {
  auto* box = new QComboBox(this);
  box->setObjectName("mode");
  box->setAccessibleName(tr("Layout mode"));
  guard_field(box);
  box->addItems({tr("Layout: fastest"), tr("Layout: as written")});
  box->setToolTip(
      tr("Layout mode. Fastest: layouts that nobody pinned are chosen for the least predicted time of a step. As "
         "written: they follow from the specs alone, as in JAX."));
  connect(box, &QComboBox::activated, this, [&document](int i) { set_mode(document, static_cast<LayoutMode>(i)); });
  connect(&document, &Document::configChanged, box, [&document, box] {
    const QSignalBlocker block(box);
    box->setCurrentIndex(static_cast<int>(document.config().sharding.mode));
  });
  return box;
}

QComboBox* ToolBar::make_preset() {
  auto* box = new QComboBox(this);
  box->setObjectName("preset");
  box->setAccessibleName(tr("Preset"));
  guard_field(box);
  box->setPlaceholderText(tr("Preset"));
  box->setToolTip(tr("Start from a run file that comes with the program."));
  for (const QString& name : preset_names()) box->addItem(name);
  box->setCurrentIndex(-1);
  box->setMinimumContentsLength(6);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  connect(box, &QComboBox::activated, this, [this, box](int i) {
    emit presetChosen(box->itemText(i));
    box->setCurrentIndex(-1);
  });
  return box;
}

// The keyboard stays where it is.
void ToolBar::give_own_line(bool own) {
  if (std::exchange(has_own_line_, own) == own) return;
  QWidget* field = mesh_bar_->focusWidget();
  const bool has_keyboard = field && field->hasFocus();
  if (own) {
    removeAction(mesh_action_);
    second_->addAction(mesh_action_);
  } else {
    second_->removeAction(mesh_action_);
    insertAction(behind_mesh_, mesh_action_);
  }
  second_->setVisible(own);
  behind_mesh_->setVisible(!own);
  if (has_keyboard) field->setFocus(Qt::OtherFocusReason);
}

// Axes, their marks and longer numbers change the room that the mesh takes.
bool ToolBar::eventFilter(QObject* watched, QEvent* event) {
  const bool is_other_room = event->type() == QEvent::LayoutRequest && mesh_bar_->sizeHint().width() != mesh_width_;
  if (is_other_room && width_ > 0) fit_to(width_);
  return QToolBar::eventFilter(watched, event);
}

void ToolBar::fit_to(int width) {
  width_ = width;
  const bool compact = width < roomy_width;
  mesh_bar_->set_compact(compact);
  mode_->setItemText(0, compact ? tr("Fastest") : tr("Layout: fastest"));
  mode_->setItemText(1, compact ? tr("As written") : tr("Layout: as written"));
  const int words = mode_->fontMetrics().horizontalAdvance(mode_->itemText(1));
  mode_->setFixedWidth(words + around_words);
  findChild<QToolButton*>("stopButton")
      ->setToolButtonStyle(compact ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextBesideIcon);
  layout()->invalidate();
  strategy_line_->layout()->invalidate();
  strategy_bar_->fit_to(width - (strategy_line_->sizeHint().width() - strategy_bar_->sizeHint().width()));
  mesh_width_ = mesh_bar_->sizeHint().width();
  const int mesh = has_own_line_ ? mesh_width_ + 2 * layout()->spacing() : 0;
  give_own_line(sizeHint().width() + mesh > width);
}

}  // namespace shardscope
