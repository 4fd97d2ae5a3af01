#include "gui/look/steady_tabs.h"

#include <QEvent>
#include <QTabBar>

namespace shardscope {

bool SteadyTabs::event(QEvent* event) {
  if (event->type() != QEvent::LayoutRequest) return QTabWidget::event(event);
  const QSize bar = tabBar()->sizeHint();
  if (bar != bar_) {
    bar_ = bar;
    return QTabWidget::event(event);
  }
  updateGeometry();
  return true;
}

}  // namespace shardscope
