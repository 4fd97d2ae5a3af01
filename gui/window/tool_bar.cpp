#include "gui/window/tool_bar.h"

#include <QSignalBlocker>

#include "gui/document/edits.h"
#include "gui/look/field_guard.h"
#include "gui/window/presets.h"

namespace shardscope {
namespace {

constexpr int roomy_width = 1120;  // from here on there is room for words
constexpr int around_words = 38;   // in a box to choose from

}  // namespace

ToolBar::ToolBar(const Actions& actions, Workspace& workspace, QWidget* parent)
    : QToolBar(tr("Main"), parent), mesh_bar_(new MeshBar(workspace, this)), mode_(make_mode(workspace.document)) {
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
  addWidget(mesh_bar_);
  addSeparator();
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
  box->addItems({tr("Layout: cheapest"), tr("Layout: as written")});
  box->setToolTip(
      tr("Layout mode. Cheapest: layouts that nobody pinned are chosen to move the fewest bytes without "
         "doing work twice. As written: they follow from the specs alone, as in JAX."));
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

void ToolBar::fit_to(int width) {
  const bool compact = width < roomy_width;
  mesh_bar_->set_compact(compact);
  mode_->setItemText(0, compact ? tr("Cheapest") : tr("Layout: cheapest"));
  mode_->setItemText(1, compact ? tr("As written") : tr("Layout: as written"));
  const int words = mode_->fontMetrics().horizontalAdvance(mode_->itemText(1));
  mode_->setFixedWidth(words + around_words);
  findChild<QToolButton*>("stopButton")
      ->setToolButtonStyle(compact ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextBesideIcon);
}

}  // namespace shardscope
