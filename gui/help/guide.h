#pragma once

#include <QList>
#include <QString>
#include <QWidget>

namespace shardscope {

// A chapter of a document that comes with the program (":/help/guide.md"): what stands from one heading of second level
// to the next. The text before the first such heading is a chapter with the document's own title.
struct GuideChapter {
  QString document;  // "guide.md"
  QString title;     // "Layout"
  QString anchor;    // "layout": what follows # in a link to it
  QString markdown;  // with its heading
};

// Of all documents, in their order: the guide first.
const QList<GuideChapter>& guide_chapters();
// By document and anchor; of a document alone (an empty anchor) its first. Headings of lower level lead to the chapter
// that has them. Nullptr: there is none.
const GuideChapter* find_chapter(const QString& document, const QString& anchor);
// As GitHub names a heading: "Problems and rules" -> "problems-and-rules".
QString anchor_of(const QString& heading);

// Which chapter of the guide is about a widget and what is in it.
void set_help_chapter(QWidget* widget, const QString& anchor);
// That of the widget or the nearest parent that has one; of none "the-parts-of-the-window".
QString help_chapter_of(const QWidget* widget);

}  // namespace shardscope
