#include "gui/look/line_label.h"

#include <QPainter>

namespace shardscope {

LineLabel::LineLabel(QWidget* parent) : QLabel(parent) {
  setTextFormat(Qt::PlainText);
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
}

void LineLabel::set_line(const QString& text) {
  setText(text);
  setToolTip(text);
}

void LineLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette().color(foregroundRole()));
  painter.drawText(contentsRect(), int(alignment()),
                   fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width()));
}

}  // namespace shardscope
