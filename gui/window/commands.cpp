#include "gui/window/commands.h"

#include <QDockWidget>
#include <QMenu>
#include <QMenuBar>
#include <QSet>
#include <QToolBar>

namespace shardscope {
namespace {

QString plain(QString text) {
  text.replace("&&", "\1").remove('&').replace('\1', '&');
  return text;
}

class Collector {
 public:
  void take(QAction* action, const QString& where) {
    if (action->isSeparator() || !action->isVisible() || seen_.contains(action)) return;
    seen_ << action;
    if (QMenu* menu = action->menu()) {
      emit menu->aboutToShow();
      for (QAction* entry : menu->actions()) take(entry, joined(where, plain(action->text())));
      return;
    }
    if (action->text().isEmpty()) return;
    found << Command{where, plain(action->text()), action->shortcut().toString(QKeySequence::NativeText),
                     action->toolTip(), action};
  }

  QList<Command> found;

 private:
  static QString joined(const QString& where, const QString& title) {
    return where.isEmpty() ? title : where + QString(" %1 ").arg(QChar(0x203a)) + title;
  }

  QSet<QAction*> seen_;
};

QString panel_of(const QWidget* widget) {
  for (; widget; widget = widget->parentWidget())
    if (const auto* dock = qobject_cast<const QDockWidget*>(widget)) return dock->windowTitle();
  return {};
}

}  // namespace

QList<Command> commands_of(QMainWindow& window) {
  Collector collector;
  for (QAction* menu : window.menuBar()->actions()) collector.take(menu, {});
  for (QAction* action : window.actions()) collector.take(action, {});
  for (QWidget* widget : window.findChildren<QWidget*>()) {
    if (qobject_cast<QMenu*>(widget) || qobject_cast<QMenuBar*>(widget) || qobject_cast<QToolBar*>(widget)) continue;
    const QString panel = panel_of(widget);
    if (panel.isEmpty() || qobject_cast<QDockWidget*>(widget)) continue;
    for (QAction* action : widget->actions()) collector.take(action, panel);
  }
  return collector.found;
}

}  // namespace shardscope
