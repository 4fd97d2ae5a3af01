#include "gui/help/guide_view.h"

#include <QDesktopServices>
#include <QFileInfo>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextTable>
#include <algorithm>

#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr int margin = 14;

void frame_tables(QTextDocument& document) {
  for (QTextFrame* frame : document.rootFrame()->childFrames()) {
    auto* table = qobject_cast<QTextTable*>(frame);
    if (!table) continue;
    QTextTableFormat format = table->format();
    format.setBorder(1);
    format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
    format.setBorderBrush(theme().line);
    format.setBorderCollapse(true);
    format.setCellPadding(4);
    format.setCellSpacing(0);
    format.setWidth(QTextLength(QTextLength::PercentageLength, 100));
    format.setBottomMargin(10);
    table->setFormat(format);
  }
}

}  // namespace

GuideView::GuideView(QWidget* parent) : QTextBrowser(parent) {
  setObjectName("guide");
  setAccessibleName(tr("Chapter of the guide"));
  setOpenLinks(false);
  document()->setDocumentMargin(margin);
  connect(this, &QTextBrowser::anchorClicked, this, &GuideView::follow);
}

void GuideView::show_chapter(const GuideChapter& chapter) {
  chapter_ = &chapter;
  render();
  verticalScrollBar()->setValue(0);
}

void GuideView::scroll_to(const QString& anchor) {
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next())
    if (block.blockFormat().headingLevel() > 0 && anchor_of(block.text()) == anchor) setTextCursor(QTextCursor(block));
}

void GuideView::render() {
  if (!chapter_) return;
  found_.clear();
  setExtraSelections({});
  // Qt 6.4 crashes where a document that has had tables reads Markdown with tables again.
  QTextDocument read;
  read.setMarkdown(chapter_->markdown);
  setHtml(read.toHtml());
  frame_tables(*document());
}

void GuideView::follow(const QUrl& link) {
  if (!link.isRelative()) {
    QDesktopServices::openUrl(link);
    return;
  }
  const QString document = link.path().isEmpty() ? chapter_->document : QFileInfo(link.path()).fileName();
  if (find_chapter(document, link.fragment())) emit chapterWanted(document, link.fragment());
}

QVariant GuideView::loadResource(int type, const QUrl& name) {
  if (type != QTextDocument::ImageResource) return {};
  const QImage picture(":/help/" + QFileInfo(name.path()).fileName());
  const int widest = std::max(160, viewport()->width() - 2 * margin - 4);
  if (picture.isNull() || picture.width() <= widest) return picture;
  QImage fitting = picture.scaledToWidth(static_cast<int>(widest * devicePixelRatioF()), Qt::SmoothTransformation);
  fitting.setDevicePixelRatio(devicePixelRatioF());
  return fitting;
}

int GuideView::mark(const QStringList& words) {
  found_.clear();
  current_ = 0;
  QList<QTextEdit::ExtraSelection> marks;
  for (const QString& word : words)
    for (QTextCursor found = document()->find(word); !found.isNull(); found = document()->find(word, found)) {
      QTextEdit::ExtraSelection mark;
      mark.cursor = found;
      mark.format.setBackground(palette().highlight());
      mark.format.setForeground(palette().highlightedText());
      marks << mark;
      found_ << found;
    }
  std::ranges::sort(found_, {}, &QTextCursor::selectionStart);
  setExtraSelections(marks);
  if (!found_.isEmpty()) setTextCursor(QTextCursor(document()->findBlock(found_.front().selectionStart())));
  return static_cast<int>(found_.size());
}

void GuideView::go_to_next() {
  if (found_.isEmpty()) return;
  current_ = (current_ + 1) % found_.size();
  QTextCursor at = found_[current_];
  at.clearSelection();
  setTextCursor(at);
  ensureCursorVisible();
}

void GuideView::resizeEvent(QResizeEvent* event) {
  const bool is_wider = event->oldSize().width() != event->size().width();
  QTextBrowser::resizeEvent(event);
  if (is_wider) render();
}

void GuideView::changeEvent(QEvent* event) {
  QTextBrowser::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) render();
}

}  // namespace shardscope
