#include "gui/help/guide.h"

#include <QFile>
#include <QRegularExpression>
#include <QVariant>
#include <algorithm>

namespace shardscope {
namespace {

constexpr const char* chapter_property = "helpChapter";

void append_chapters(QList<GuideChapter>& chapters, const QString& document) {
  static const QRegularExpression comment("<!--.*?-->\\n*", QRegularExpression::DotMatchesEverythingOption);
  QFile file(":/help/" + document);
  if (!file.open(QIODevice::ReadOnly)) return;
  const QString text = QString::fromUtf8(file.readAll()).remove(comment);
  qsizetype begin = 0;
  for (qsizetype end = 0; begin < text.size(); begin = end + 1) {
    end = text.indexOf("\n## ", begin);
    if (end < 0) end = text.size();
    const QString part = text.mid(begin, end - begin);
    const QString title = part.section('\n', 0, 0).remove(QRegularExpression("^#+ "));
    chapters << GuideChapter{document, title, anchor_of(title), part};
  }
}

QList<GuideChapter> read_chapters() {
  QList<GuideChapter> chapters;
  for (const char* document : {"guide.md", "run-file.md", "commands.md", "search.md", "predictions.md", "lint.md",
                               "hosts.md", "systems.md", "glossary.md"})
    append_chapters(chapters, document);
  return chapters;
}

bool has_heading(const GuideChapter& chapter, const QString& anchor) {
  static const QRegularExpression heading("^#+ (.+)$", QRegularExpression::MultilineOption);
  for (auto match = heading.globalMatch(chapter.markdown); match.hasNext();)
    if (anchor_of(match.next().captured(1)) == anchor) return true;
  return false;
}

}  // namespace

QString anchor_of(const QString& heading) {
  static const QRegularExpression sign("[^\\w\\- ]", QRegularExpression::UseUnicodePropertiesOption);
  return heading.toLower().remove(sign).replace(' ', '-');
}

const QList<GuideChapter>& guide_chapters() {
  static const QList<GuideChapter> chapters = read_chapters();
  return chapters;
}

const GuideChapter* find_chapter(const QString& document, const QString& anchor) {
  for (const GuideChapter& chapter : guide_chapters())
    if (chapter.document == document && (anchor.isEmpty() || has_heading(chapter, anchor))) return &chapter;
  return nullptr;
}

void set_help_chapter(QWidget* widget, const QString& anchor) { widget->setProperty(chapter_property, anchor); }

QString help_chapter_of(const QWidget* widget) {
  for (; widget; widget = widget->parentWidget())
    if (const QString anchor = widget->property(chapter_property).toString(); !anchor.isEmpty()) return anchor;
  return "the-parts-of-the-window";
}

}  // namespace shardscope
