#include "gui/panels/rules_delegate.h"

#include <QKeyEvent>
#include <QLineEdit>

#include "gui/look/appearance.h"
#include "gui/panels/rules_model.h"

namespace shardscope {
namespace {

constexpr const char* fault_property = "fault";

}  // namespace

QWidget* RulesDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem&, const QModelIndex& index) const {
  auto* field = new QLineEdit(parent);
  const QPersistentModelIndex cell(index);
  const auto judge = [this, field, cell] {
    const auto* model = qobject_cast<const RulesModel*>(cell.model());
    const QString fault = model && cell.isValid() ? model->fault(cell, field->text()) : QString();
    field->setProperty(fault_property, fault);
    field->setToolTip(fault);
    QPalette colours = field->parentWidget()->palette();
    if (!fault.isEmpty()) colours.setColor(QPalette::Text, theme().error);
    field->setPalette(colours);
    emit faultChanged(fault);
  };
  connect(field, &QLineEdit::textChanged, this, judge);
  connect(field, &QObject::destroyed, this, [this] { emit faultChanged({}); });
  return field;
}

void RulesDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
  if (!static_cast<QLineEdit*>(editor)->isModified()) QStyledItemDelegate::setEditorData(editor, index);
}

bool RulesDelegate::eventFilter(QObject* editor, QEvent* event) {
  if (event->type() == QEvent::KeyPress && !editor->property(fault_property).toString().isEmpty()) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Tab) return true;
  }
  return QStyledItemDelegate::eventFilter(editor, event);
}

}  // namespace shardscope
