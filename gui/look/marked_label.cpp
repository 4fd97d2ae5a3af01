#include "gui/look/marked_label.h"

#include <QPainter>

#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr int side = 14, gap = 3;

}  // namespace

MarkedLabel::MarkedLabel(const QString& text, QWidget* parent) : QLabel(text, parent) {}

void MarkedLabel::set_mark(const QString& why) {
  if (mark_ == why) return;
  mark_ = why;
  setContentsMargins(0, 0, why.isEmpty() ? 0 : gap + side, 0);
  setToolTip(why);
  setAccessibleDescription(why);
  update();
}

void MarkedLabel::paintEvent(QPaintEvent* event) {
  QLabel::paintEvent(event);
  if (mark_.isEmpty()) return;
  const int behind = contentsRect().left() + std::min(sizeHint().width(), width()) - side;
  QPainter painter(this);
  warning_icon().paint(&painter, QRect(behind, (height() - side) / 2, side, side));
}

}  // namespace shardscope
