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

constexpr QChar arrow(0x2192);  // "->" would break in the middle
constexpr qsizetype long_name = 16;

// Also before a capital within a name that a narrow panel has no room for ("SelfAttention" "Block_0/").
QString breakable(QString text) {
  static const QRegularExpression inside("(?<=/)|(?<=\\.)(?=[A-Za-z_])|(?<=[\\w\\]])(?=\\[)");
  static const QRegularExpression capital("(?<=[a-z])(?=[A-Z])");
  QStringList names = text.replace(inside, QString(break_mark)).split(break_mark);
  for (QString& name : names)
    if (name.size() > long_name && !name.contains(' ')) name.replace(capital, QString(break_mark));
  return names.join(break_mark).replace("->", arrow);
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
  QGuiApplication::clipboard()->setText(hasSelectedText() ? selectedText().remove(break_mark).replace(arrow, "->")
                                                          : text_);
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
