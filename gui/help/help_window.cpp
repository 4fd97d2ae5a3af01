#include "gui/help/help_window.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QShortcut>
#include <QSplitter>
#include <QTreeWidgetItemIterator>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr int index_role = Qt::UserRole;

QStringList words_of(const QString& text) { return text.split(' ', Qt::SkipEmptyParts); }

bool has_words(const GuideChapter& chapter, const QStringList& words) {
  return std::ranges::all_of(words,
                             [&](const QString& word) { return chapter.markdown.contains(word, Qt::CaseInsensitive); });
}

}  // namespace

HelpWindow::HelpWindow(QWidget* parent)
    : QDialog(parent), line_(new QLineEdit(this)), chapters_(new QTreeWidget(this)), view_(new GuideView(this)) {
  setObjectName("help");
  setWindowTitle(tr("Shardscope help"));
  resize(920, 640);
  line_->setObjectName("helpSearch");
  line_->setPlaceholderText(tr("Search the documents"));
  line_->setAccessibleName(tr("Search the documents"));
  line_->setClearButtonEnabled(true);
  chapters_->setObjectName("helpChapters");
  chapters_->setAccessibleName(tr("Chapters"));
  chapters_->setHeaderHidden(true);
  chapters_->setUniformRowHeights(true);
  auto* left = new QWidget(this);
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(line_);
  column->addWidget(chapters_, 1);
  auto* split = new QSplitter(this);
  split->addWidget(left);
  split->addWidget(view_);
  split->setStretchFactor(1, 1);
  split->setSizes({240, 680});
  auto* layout = new QHBoxLayout(this);
  layout->addWidget(split);
  fill();
  connect(chapters_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) { choose(item); });
  connect(view_, &GuideView::chapterWanted, this, &HelpWindow::open_chapter);
  connect(line_, &QLineEdit::textChanged, this, &HelpWindow::search);
  connect(line_, &QLineEdit::returnPressed, view_, &GuideView::go_to_next);
  connect(new QShortcut(QKeySequence::Find, this), &QShortcut::activated, this, [this] {
    line_->setFocus(Qt::ShortcutFocusReason);
    line_->selectAll();
  });
  connect(new QShortcut(QKeySequence::FindNext, this), &QShortcut::activated, view_, &GuideView::go_to_next);
  connect(new QShortcut(QKeySequence::Back, this), &QShortcut::activated, this, &HelpWindow::go_back);
}

void HelpWindow::fill() {
  const QList<GuideChapter>& chapters = guide_chapters();
  QTreeWidgetItem* document = nullptr;
  for (qsizetype i = 0; i < chapters.size(); ++i) {
    const bool begins = i == 0 || chapters[i].document != chapters[i - 1].document;
    auto* item = begins ? new QTreeWidgetItem(chapters_) : new QTreeWidgetItem(document);
    if (begins) document = item;
    item->setText(0, chapters[i].title);
    item->setToolTip(0, chapters[i].title);
    item->setData(0, index_role, i);
  }
  if (chapters_->topLevelItemCount() > 0) chapters_->topLevelItem(0)->setExpanded(true);
}

void HelpWindow::open_chapter(const QString& document, const QString& anchor) {
  const GuideChapter* wanted = find_chapter(document, anchor);
  if (!wanted) return;
  for (QTreeWidgetItemIterator at(chapters_); *at; ++at)
    if (&guide_chapters()[(*at)->data(0, index_role).toInt()] == wanted) {
      if ((*at)->isHidden()) line_->clear();
      chapters_->setCurrentItem(*at);
      chapters_->scrollToItem(*at);
    }
  if (wanted->anchor != anchor && !anchor.isEmpty()) view_->scroll_to(anchor);
}

void HelpWindow::choose(QTreeWidgetItem* item) {
  if (!item) return;
  if (view_->chapter()) before_ << view_->chapter();
  view_->show_chapter(guide_chapters()[item->data(0, index_role).toInt()]);
  view_->mark(words_of(line_->text()));
}

void HelpWindow::go_back() {
  if (before_.isEmpty()) return;
  const GuideChapter* chapter = before_.takeLast();
  open_chapter(chapter->document, chapter->anchor);
  if (!before_.isEmpty()) before_.removeLast();  // where that came from
}

void HelpWindow::search(const QString& text) {
  QTreeWidgetItem* first = nullptr;
  const QStringList words = words_of(text);
  for (int i = 0; i < chapters_->topLevelItemCount(); ++i) {
    QTreeWidgetItem* document = chapters_->topLevelItem(i);
    const auto has = [&](QTreeWidgetItem* item) {
      return has_words(guide_chapters()[item->data(0, index_role).toInt()], words);
    };
    bool any = has(document);
    if (any && !first) first = document;
    for (int j = 0; j < document->childCount(); ++j) {
      QTreeWidgetItem* chapter = document->child(j);
      const bool fits = has(chapter);
      chapter->setHidden(!fits);
      any |= fits;
      if (fits && !first) first = chapter;
    }
    document->setHidden(!any);
    document->setExpanded(any && (!words.isEmpty() || i == 0));
  }
  QTreeWidgetItem* current = chapters_->currentItem();
  const bool stays =
      current && !current->isHidden() && has_words(guide_chapters()[current->data(0, index_role).toInt()], words);
  mark_invalid(line_, !first);
  line_->setToolTip(first ? QString() : tr("No chapter has all these words."));
  if (first && !stays) chapters_->setCurrentItem(first);
  else view_->mark(words);
}

// Enter in the search line goes on in the text, and does not close.
void HelpWindow::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return;
  if (event->key() == Qt::Key_Escape && !line_->text().isEmpty()) return line_->clear();
  QDialog::keyPressEvent(event);
}

}  // namespace shardscope
