#include "gui/pages/layout_array_picker.h"

#include <QCompleter>
#include <QKeyEvent>

#include "gui/document/text.h"
#include "gui/workspace/array_facts.h"

namespace shardscope {

LayoutArrayPicker::LayoutArrayPicker(Workspace& workspace, QWidget* parent)
    : QLineEdit(parent), workspace_(workspace), names_(new QStringListModel(this)) {
  setObjectName("layoutArray");
  setPlaceholderText(tr("Find an array or activation"));
  setAccessibleName(tr("array that is shown"));
  setToolTip(
      tr("Any array of the model by a part of its name: parameters, inputs, and what the forward pass computes "
         "(activations)."));
  auto* completer = new QCompleter(names_, this);
  completer->setFilterMode(Qt::MatchContains);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  completer->setMaxVisibleItems(16);
  setCompleter(completer);
  connect(completer, qOverload<const QString&>(&QCompleter::activated), this, &LayoutArrayPicker::pick);
  connect(this, &QLineEdit::returnPressed, this, [this, completer] {
    if (!pick(text()) && completer->completionCount() > 0) pick(completer->currentCompletion());
  });
  connect(this, &QLineEdit::editingFinished, this, &LayoutArrayPicker::show_selected);
  connect(&workspace.selection, &Selection::arrayChanged, this, &LayoutArrayPicker::show_selected);
  show_selected();
}

bool LayoutArrayPicker::pick(const QString& name) {
  const std::optional<ArrayRef> array = find_array(workspace_.planner, name);
  if (array) workspace_.selection.select_array(*array);
  return array.has_value();
}

// The names are looked up when they are wanted.
void LayoutArrayPicker::focusInEvent(QFocusEvent* event) {
  QStringList names{name_of(InputRef{}), name_of(OutputRef{})};
  for (const ParameterInfo& info : workspace_.planner.parameters()) names << title_of(ParameterRef{info.path});
  if (const std::shared_ptr<const Plan> plan = workspace_.planner.plan())
    for (const ValueLayout& layout : plan->layouts) names << qt(layout.name);
  names.removeDuplicates();
  if (names != names_->stringList()) names_->setStringList(names);
  QLineEdit::focusInEvent(event);
  selectAll();
}

void LayoutArrayPicker::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    show_selected();
    return clearFocus();
  }
  QLineEdit::keyPressEvent(event);
}

void LayoutArrayPicker::show_selected() {
  setText(title_of(workspace_.selection.array()));
  setCursorPosition(0);
}

}  // namespace shardscope
