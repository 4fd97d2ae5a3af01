#include "gui/window/file_bar.h"

#include <QEvent>
#include <algorithm>

#include "gui/look/wrapped_label.h"

namespace shardscope {

FileBar::FileBar(Document& document, Files& files, QWidget* beneath, QWidget* parent)
    : QFrame(parent), document_(document), files_(files), beneath_(beneath), text_(new WrappedLabel(this)) {
  setObjectName("fileBar");
  setAutoFillBackground(true);
  text_->setObjectName("fileText");
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 6, 8, 6);
  layout->addWidget(text_, 1);
  reload_ =
      add_button(tr("Reload"), "reloadNow", tr("Takes what is on disk, as one edit that can be undone (Ctrl+R)."));
  difference_ = add_button(tr("What differs\u2026"), "showDifference", tr("Lists the settings that differ."));
  later_ = add_button(tr("Later"), "putOff", tr("Says no more of this change; saving still asks."));
  connect(reload_, &QToolButton::clicked, &files, &Files::reload);
  connect(difference_, &QToolButton::clicked, &files, &Files::show_conflict);
  connect(later_, &QToolButton::clicked, this, [this] {
    put_off_ = files_.watch().found();
    refresh();
  });
  connect(&files.watch(), &FileWatch::changed, this, &FileBar::refresh);
  connect(&document, &Document::titleChanged, this, &FileBar::refresh);
  parent->installEventFilter(this);
  beneath->installEventFilter(this);
  refresh();
}

QToolButton* FileBar::add_button(const QString& text, const QString& name, const QString& tip) {
  auto* button = new QToolButton(this);
  button->setObjectName(name);
  button->setText(text);
  button->setToolTip(tip);
  layout()->addWidget(button);
  return button;
}

void FileBar::refresh() {
  const StoredFile& found = files_.watch().found();
  setVisible(found.state != FileState::same && found != put_off_);
  if (found.state == FileState::same) put_off_ = {};
  if (isHidden()) return;
  const QString name = QString("<b>%1</b>").arg(document_.title().toHtmlEscaped());
  QString text = tr("%1 was changed on disk.").arg(name);
  if (document_.is_modified()) text = tr("%1 was changed on disk, and has unsaved edits here.").arg(name);
  if (found.state == FileState::unreadable)
    text = tr("%1 on disk is no run file any more: %2").arg(name, found.fault.left(300).toHtmlEscaped());
  if (found.state == FileState::missing)
    text = tr("%1 is no longer on disk: somebody has removed or renamed it. Save writes it anew.").arg(name);
  text_->setText(text);
  reload_->setVisible(found.state == FileState::changed);
  difference_->setVisible(found.state != FileState::missing);
  fit();
  raise();
}

void FileBar::fit() {
  const QSize room = parentWidget()->size();
  const int high = std::max(layout()->heightForWidth(room.width()), layout()->sizeHint().height());
  const int foot = beneath_->isHidden() ? room.height() : beneath_->y();
  setGeometry(0, foot - high, room.width(), high);
}

bool FileBar::eventFilter(QObject* watched, QEvent* event) {
  const QEvent::Type type = event->type();
  const bool moves = type == QEvent::Resize || type == QEvent::Move || type == QEvent::Show || type == QEvent::Hide;
  if (moves && !isHidden()) fit();
  return QFrame::eventFilter(watched, event);
}

}  // namespace shardscope
