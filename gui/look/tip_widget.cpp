#include "gui/look/tip_widget.h"

#include <QHelpEvent>
#include <QToolTip>

namespace shardscope {

bool TipWidget::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), tip_at(help->pos()), this);
  return true;
}

}  // namespace shardscope
