#include "gui/workspace/spec_field.h"

#include <QKeyEvent>

#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"

namespace shardscope {

SpecField::SpecField(QWidget* parent) : QLineEdit(parent) {
  setObjectName("specField");
  setAccessibleName(tr("Spec"));
  guard_field(this);
  connect(this, &QLineEdit::textChanged, this, &SpecField::judge);
  connect(this, &QLineEdit::editingFinished, this, &SpecField::take);
  show_spec({});
  judge();
}

void SpecField::show_spec(const QString& text, const QString& hint) {
  shown_ = text;
  setPlaceholderText(hint);
  if (hasFocus() && isModified()) return judge();
  setText(text);
  setCursorPosition(0);
}

void SpecField::abandon() { setText(shown_); }

void SpecField::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape && text() != shown_) return abandon();
  QLineEdit::keyPressEvent(event);
}

void SpecField::focusOutEvent(QFocusEvent* event) {
  QLineEdit::focusOutEvent(event);
  const bool comes_back = event->reason() == Qt::PopupFocusReason || event->reason() == Qt::ActiveWindowFocusReason;
  if (!fault_.isEmpty() && !comes_back) abandon();
}

void SpecField::judge() {
  fault_ = text() == shown_ ? QString() : spec_fault(text());
  mark_invalid(this, !fault_.isEmpty());
  setToolTip(fault_.isEmpty() ? tr("The spec as JAX writes it: for each dimension None, an axis, or axes in "
                                   "parentheses, outermost first. Enter takes it.")
                              : fault_);
  emit judged();
}

void SpecField::take() {
  if (!isModified()) return;
  if (!fault_.isEmpty()) return;
  setModified(false);
  if (text() != shown_) emit specTyped(parse_spec(text()));
}

}  // namespace shardscope
