#pragma once

#include <QTextBrowser>

#include "gui/help/guide.h"

namespace shardscope {

// Shows one chapter at a time, its pictures no wider than the view. A link within the documents leads to the chapter
// that it names; others open outside.
class GuideView : public QTextBrowser {
  Q_OBJECT
 public:
  explicit GuideView(QWidget* parent = nullptr);

  void show_chapter(const GuideChapter& chapter);
  const GuideChapter* chapter() const { return chapter_; }
  // To the heading of this anchor within the chapter.
  void scroll_to(const QString& anchor);
  // Marks every place of the text, and goes to the first one; how many there are.
  int mark(const QStringList& words);
  void go_to_next();  // of the marked places, after the last the first

 signals:
  void chapterWanted(const QString& document, const QString& anchor);

 protected:
  QVariant loadResource(int type, const QUrl& name) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void follow(const QUrl& link);
  void render();

  const GuideChapter* chapter_ = nullptr;
  QList<QTextCursor> found_;
  qsizetype current_ = 0;
};

}  // namespace shardscope
