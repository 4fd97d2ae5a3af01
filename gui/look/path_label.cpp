#include "gui/look/path_label.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QRegularExpression>

namespace shardscope {
namespace {

constexpr QChar break_mark(0x200b);  // zero width

QString breakable(QString text) {
  static const QRegularExpression inside("(?<=/)|(?<=\\.)(?=[A-Za-z_])|(?<=[\\w\\]])(?=\\[)");
  return text.replace(inside, QString(break_mark));
}

}  // namespace

PathLabel::PathLabel(QWidget* parent) : QLabel(parent) {
  setWordWrap(true);
  setTextFormat(Qt::RichText);  // measured as it is painted, to the pixel
  setTextInteractionFlags(Qt::TextSelectableByMouse);
}

void PathLabel::set_path_text(const QString& text) {
  text_ = text;
  setText(breakable(text).toHtmlEscaped());
}

void PathLabel::copy() const {
  QGuiApplication::clipboard()->setText(hasSelectedText() ? selectedText().remove(break_mark) : text_);
}

void PathLabel::keyPressEvent(QKeyEvent* event) {
  if (!event->matches(QKeySequence::Copy)) return QLabel::keyPressEvent(event);
  copy();
  event->accept();
}

void PathLabel::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  menu.addAction(tr("Copy"), this, [this] { copy(); });
  menu.exec(event->globalPos());
}

}  // namespace shardscope
