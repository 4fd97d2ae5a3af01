#include <QLineEdit>
#include <QRegularExpression>
#include <QTest>
#include <QTreeWidgetItemIterator>

#include "gui/help/help_window.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace help_test {

using namespace shardscope;

// The documents that come with the program, and the window that shows them.
class HelpTest : public WindowCase {
  Q_OBJECT

  static QStringList shown(HelpWindow& help) {
    QStringList titles;
    for (QTreeWidgetItemIterator at(help.findChild<QTreeWidget*>("helpChapters"), QTreeWidgetItemIterator::NotHidden);
         *at; ++at)
      titles << (*at)->text(0);
    return titles;
  }

 private slots:
  void initTestCase() { prepare(); }
  void cleanup() { window_.reset(); }

  void every_page_of_the_window_has_a_chapter_of_the_guide() {
    window_ = std::make_unique<MainWindow>(made::source(), "/nowhere/shardrun");
    auto* pages = window_->findChild<QTabWidget*>("pages");
    QVERIFY(pages->count() > 6);
    for (int i = 0; i < pages->count(); ++i) {
      const QString anchor = help_chapter_of(pages->widget(i));
      QCOMPARE(anchor, anchor_of(pages->tabText(i).remove('&')));
      QVERIFY2(find_chapter("guide.md", anchor), qPrintable(anchor));
    }
    for (const QDockWidget* dock : window_->findChildren<QDockWidget*>())
      QVERIFY2(find_chapter("guide.md", help_chapter_of(dock->widget())), qPrintable(dock->objectName()));
  }

  void every_link_within_the_documents_leads_to_a_chapter() {
    static const QRegularExpression link("[^!]\\[[^\\]]+\\]\\(([^)\\s]*)\\)");
    int links = 0;
    for (const GuideChapter& chapter : guide_chapters())
      for (auto match = link.globalMatch(chapter.markdown); match.hasNext();) {
        const QString to = match.next().captured(1), file = to.section('#', 0, 0);
        if (to.contains("://") || file.contains('/') ||
            !QFile::exists(":/help/" + (file.isEmpty() ? chapter.document : file)))
          continue;
        QVERIFY2(find_chapter(file.isEmpty() ? chapter.document : file, to.section('#', 1)), qPrintable(to));
        ++links;
      }
    QVERIFY(links > 20);
  }

  void every_picture_of_the_guide_is_there() {
    static const QRegularExpression picture("!\\[[^\\]]*\\]\\(([^)]+)\\)");
    int pictures = 0;
    for (const GuideChapter& chapter : guide_chapters())
      for (auto match = picture.globalMatch(chapter.markdown); match.hasNext(); ++pictures)
        QVERIFY2(!QImage(":/help/" + match.next().captured(1).section('/', -1)).isNull(), qPrintable(chapter.title));
    QVERIFY(pictures >= 8);
  }

  void a_search_shows_the_chapters_that_have_the_text_and_marks_it() {
    HelpWindow help(nullptr);
    help.show();
    const QStringList all = shown(help);
    help.findChild<QLineEdit*>("helpSearch")->setText("rematerialise");
    QVERIFY(shown(help).size() < all.size() && !shown(help).isEmpty());
    QVERIFY(help.view()->toPlainText().contains("rematerialise", Qt::CaseInsensitive));
    QVERIFY(!help.view()->extraSelections().isEmpty());
    help.findChild<QLineEdit*>("helpSearch")->setText("Rematerialise  schedule");
    QVERIFY2(!shown(help).isEmpty(), "each word somewhere in the chapter");
    help.findChild<QLineEdit*>("helpSearch")->setText("rematerialise nosuchword");
    QCOMPARE(shown(help), QStringList());
    QTest::keyClick(&help, Qt::Key_Escape);
    QCOMPARE(shown(help), all);
    QVERIFY(help.isVisible());
  }

  void a_link_leads_to_its_chapter() {
    HelpWindow help(nullptr);
    help.show();
    help.open_chapter("guide.md", "files");
    emit help.view()->anchorClicked(QUrl("commands.md#export"));
    QCOMPARE(help.view()->chapter()->document, QString("commands.md"));
    QCOMPARE(help.view()->chapter()->anchor, QString("export"));
  }
};

REGISTER_WINDOW_TEST(HelpTest)

}  // namespace help_test

#include "help_test.moc"
