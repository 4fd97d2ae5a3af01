#include "gui/workspace/machine_box.h"

#include <QCompleter>
#include <QLineEdit>

#include "engine/machine/machine_library.h"
#include "gui/document/text.h"
#include "gui/look/field_guard.h"

namespace shardscope {

QComboBox* make_machine_box(QWidget* parent) {
  auto* box = new QComboBox(parent);
  box->setEditable(true);
  box->setInsertPolicy(QComboBox::NoInsert);
  for (std::string_view name : library_names()) box->addItem(qt(name));
  box->completer()->setFilterMode(Qt::MatchContains);
  box->completer()->setCompletionMode(QCompleter::PopupCompletion);
  guard_field(box);
  guard_field(box->lineEdit());
  return box;
}

}  // namespace shardscope
