#include "gui/window/notice.h"

#include <algorithm>

#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr int shown_ms = 8000;
constexpr int widest_notice = 520, menus_width = 420;

}  // namespace

Notice::Notice(QWidget* parent) : QLabel(parent) {
  setObjectName("notice");
  setFont(small_font());
  setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  setContentsMargins(0, 0, 10, 0);
  setTextFormat(Qt::PlainText);
  end_.setSingleShot(true);
  connect(&end_, &QTimer::timeout, this, &QLabel::clear);
}

QSize Notice::sizeHint() const { return {room_, fontMetrics().height() + 4}; }

void Notice::fit_to(int width) {
  room_ = std::clamp(width - menus_width, 0, widest_notice);
  updateGeometry();
  setText(text().isEmpty() ? QString() : fontMetrics().elidedText(toolTip(), Qt::ElideMiddle, room_ - 12));
}

void Notice::say(const QString& what) {
  setText(fontMetrics().elidedText(what, Qt::ElideMiddle, room_ - 12));
  setToolTip(what);
  end_.start(shown_ms);
}

}  // namespace shardscope
