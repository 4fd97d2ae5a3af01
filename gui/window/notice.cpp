#include "gui/window/notice.h"

#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr int shown_ms = 8000;
constexpr int widest = 520;

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

QSize Notice::sizeHint() const { return {widest, fontMetrics().height() + 4}; }

void Notice::say(const QString& what) {
  setText(fontMetrics().elidedText(what, Qt::ElideMiddle, widest - 12));
  setToolTip(what);
  end_.start(shown_ms);
}

}  // namespace shardscope
