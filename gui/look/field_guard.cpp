#include "gui/look/field_guard.h"

#include <QAction>
#include <QEvent>
#include <QKeyEvent>

namespace shardscope {
namespace {

class FieldGuard : public QObject {
 public:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (!is_foreign(static_cast<QWidget*>(watched), event)) return QObject::eventFilter(watched, event);
    event->ignore();
    return true;
  }

 private:
  static bool is_foreign(const QWidget* field, QEvent* event) {
    if (event->type() == QEvent::Wheel) return !field->hasFocus();
    if (event->type() != QEvent::ShortcutOverride && event->type() != QEvent::KeyPress) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    return key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo) || is_of_window(field, *key);
  }

  // Some of the window's keys mean something else in a line of text, such as Ctrl+E its end.
  static bool is_of_window(const QWidget* field, const QKeyEvent& key) {
    if (!(key.modifiers() & (Qt::ControlModifier | Qt::AltModifier))) return false;
    for (const QAction* action : field->window()->actions())
      if (action->isEnabled() && action->shortcuts().contains(QKeySequence(key.keyCombination()))) return true;
    return false;
  }
};

}  // namespace

void guard_field(QWidget* field) {
  static FieldGuard guard;
  field->setFocusPolicy(Qt::StrongFocus);
  field->installEventFilter(&guard);
}

}  // namespace shardscope
