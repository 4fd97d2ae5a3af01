#include "gui/look/field_guard.h"

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
    return key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo);
  }
};

}  // namespace

void guard_field(QWidget* field) {
  static FieldGuard guard;
  field->setFocusPolicy(Qt::StrongFocus);
  field->installEventFilter(&guard);
}

}  // namespace shardscope
