#include "gui/window/notice.h"

#include <QAccessible>
#include <QEvent>
#include <algorithm>

namespace shardscope {
namespace {

constexpr int shown_ms = 8000;
constexpr int widest_notice = 560, notice_margin = 12;

}  // namespace

Notice::Notice(QWidget& pages) : QLabel(&pages), pages_(pages) {
  setObjectName("notice");
  setAccessibleName(tr("Message"));
  setTextFormat(Qt::PlainText);
  setWordWrap(true);
  setAutoFillBackground(true);
  pages.installEventFilter(this);
  end_.setSingleShot(true);
  connect(&end_, &QTimer::timeout, this, &QLabel::hide);
  hide();
}

void Notice::say(const QString& what) {
  setText(what);
  setToolTip(what);
  place();
  show();
  raise();
  QAccessibleEvent reported(this, QAccessible::Alert);
  QAccessible::updateAccessibility(&reported);
  end_.start(shown_ms);
}

// Above the strips that lie at the foot.
void Notice::place() {
  int foot = pages_.height();
  for (const QObject* child : pages_.children())
    if (const auto* strip = qobject_cast<const QFrame*>(child); strip && strip != this && strip->isVisible())
      foot = std::min(foot, strip->y());
  const int widest = std::max(0, std::min(widest_notice, pages_.width() - 2 * notice_margin));
  setMaximumWidth(widest);
  const int width = std::min(widest, fontMetrics().horizontalAdvance(text()) + contentsMargins().left() + 30);
  const int height = heightForWidth(width);
  setGeometry(pages_.width() - width - notice_margin, foot - height - notice_margin, width, height);
}

bool Notice::eventFilter(QObject* watched, QEvent* event) {
  const bool may_move = event->type() == QEvent::Resize || event->type() == QEvent::Show;
  if (may_move && !isHidden()) place();
  return QLabel::eventFilter(watched, event);
}

void Notice::mousePressEvent(QMouseEvent*) { hide(); }

}  // namespace shardscope
