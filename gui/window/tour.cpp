#include "gui/window/tour.h"

#include <QApplication>
#include <QEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"

namespace shardscope {
namespace {

constexpr int note_width = 330, margin = 10;

}  // namespace

Tour::Tour(QWidget& window, std::vector<TourStop> stops, std::function<std::function<void()>()> remember)
    : QWidget(&window),
      stops_(std::move(stops)),
      remember_(std::move(remember)),
      note_(new QFrame(this)),
      title_(new QLabel(note_)),
      text_(new QLabel(note_)),
      count_(new QLabel(note_)),
      back_(new QPushButton(tr("Back"), note_)),
      next_(new QPushButton(note_)) {
  setObjectName("tour");
  setAccessibleName(tr("Tour"));
  setFocusPolicy(Qt::StrongFocus);
  note_->setObjectName("tourNote");
  note_->setAutoFillBackground(true);
  note_->setFixedWidth(note_width);
  title_->setProperty("heading", true);
  text_->setWordWrap(true);
  count_->setProperty("muted", true);
  auto* end = new QPushButton(tr("End"), note_);
  end->setObjectName("tourEnd");
  next_->setObjectName("tourNext");
  next_->setAccessibleName(tr("next"));
  for (QPushButton* button : {back_, next_, end}) button->setFocusPolicy(Qt::NoFocus);
  auto* line = filled(new QHBoxLayout, {count_, spacer, end, back_, next_});
  filled(new QVBoxLayout(note_), {title_, text_, line});
  connect(next_, &QPushButton::clicked, this, [this] { go(1); });
  connect(back_, &QPushButton::clicked, this, [this] { go(-1); });
  connect(end, &QPushButton::clicked, this, &Tour::end);
  window.installEventFilter(this);
  hide();
}

void Tour::start() {
  if (at_ < 0) {
    before_ = QApplication::focusWidget();
    bring_back_ = remember_();
  }
  at_ = -1;
  show();
  raise();
  setFocus(Qt::OtherFocusReason);
  go(1);
}

void Tour::go(int by) {
  part_ = nullptr;
  for (at_ += by; at_ >= 0 && at_ < stops() && !part_;) {
    part_ = stops_[static_cast<size_t>(at_)].part();
    if (!part_) at_ += by;
  }
  if (!part_) return end();
  const TourStop& stop = stops_[static_cast<size_t>(at_)];
  title_->setText(stop.title);
  text_->setText(stop.text);
  count_->setText(tr("%1 of %2").arg(at_ + 1).arg(stops()));
  back_->setEnabled(at_ > 0);
  next_->setText(at_ + 1 < stops() ? tr("Next") : tr("Done"));
  setAccessibleDescription(stop.title + ". " + stop.text);
  raise();
  setFocus(Qt::OtherFocusReason);
  place();
}

void Tour::end() {
  at_ = -1;
  hide();
  if (bring_back_) std::exchange(bring_back_, nullptr)();
  if (before_) before_->setFocus(Qt::OtherFocusReason);
}

QRect Tour::lit() const {
  if (!part_) return {};
  return QRect(part_->mapTo(parentWidget(), QPoint()), part_->size()).adjusted(-3, -3, 3, 3).intersected(rect());
}

// The note beside what is lit, where there is the most room; within the window.
void Tour::place() {
  setGeometry(parentWidget()->rect());
  note_->adjustSize();
  const QRect hole = lit();
  const QSize size = note_->size();
  const int below = height() - hole.bottom(), above = hole.top();
  const int right = width() - hole.right(), left = hole.left();
  QPoint at = hole.center() - QPoint(size.width() / 2, size.height() / 2);
  if (std::max(below, above) > size.height() + 2 * margin) {
    at.setY(below >= above ? hole.bottom() + margin : hole.top() - margin - size.height());
  } else if (std::max(left, right) > size.width() + 2 * margin) {
    at.setX(right >= left ? hole.right() + margin : hole.left() - margin - size.width());
  }
  note_->move(std::clamp(at.x(), margin, std::max(margin, width() - size.width() - margin)),
              std::clamp(at.y(), margin, std::max(margin, height() - size.height() - margin)));
  update();
}

void Tour::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QPainterPath dim;
  dim.addRect(rect());
  dim.addRoundedRect(lit(), 5, 5);
  painter.fillPath(dim, QColor(0, 0, 0, 120));
  painter.setPen(QPen(theme().accent, 2));
  painter.drawRoundedRect(lit(), 5, 5);
}

void Tour::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Escape: return end();
    case Qt::Key_Left:
      if (at_ > 0) go(-1);
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
    case Qt::Key_Right: return go(1);
    default: QWidget::keyPressEvent(event);
  }
}

// Else the window takes a click as one on nothing, and the keyboard away.
void Tour::mousePressEvent(QMouseEvent* event) {
  event->accept();
  setFocus(Qt::MouseFocusReason);
}

bool Tour::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize && at_ >= 0) place();
  return QWidget::eventFilter(watched, event);
}

}  // namespace shardscope
