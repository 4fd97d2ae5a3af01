#include <QDirIterator>
#include <QFile>
#include <QMap>
#include <QRegularExpression>
#include <QTest>
#include <algorithm>

#include "tests/test_program.h"

namespace glossary_test {

namespace {

const QString root = SHARDSCOPE_SOURCE_DIR;

QString read_text(const QString& path) {
  QFile file(root + "/" + path);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

struct FormerWord {
  QString word, now;

  // As a word of its own, or as a part of an identifier (is_told, ToldMessage), in lower case or with a capital.
  QRegularExpression pattern() const {
    const QString rest = QRegularExpression::escape(word.mid(1)).replace("\\ ", "\\s+(?://\\s*)?");
    const QString small = QRegularExpression::escape(word.left(1)), capital = small.toUpper();
    return QRegularExpression(QString("(?:(?<![A-Za-z])[%1%2]|(?<=[a-z])%2)%3(?![a-z])").arg(small, capital, rest));
  }
};

// The rows "| say | `not`, `not` |" of the glossary's table of former words.
QList<FormerWord> former_words() {
  static const QRegularExpression row("^\\| ([^|]+) \\| ([^|]+) \\|$", QRegularExpression::MultilineOption),
      word("`([^`]+)`");
  const QString table = read_text("docs/glossary.md").section("\n## Former words\n", 1).section("\n## ", 0, 0);
  QList<FormerWord> words;
  for (auto match = row.globalMatch(table); match.hasNext();) {
    const QRegularExpressionMatch found = match.next();
    for (auto former = word.globalMatch(found.captured(2)); former.hasNext();)
      words << FormerWord{former.next().captured(1), found.captured(1)};
  }
  return words;
}

// By module ("engine/session", "docs") all of its texts, without names of Qt that have such a word.
QMap<QString, QString> texts_by_module() {
  static const QRegularExpression of_qt(
      "QFileSystemWatcher|(add|set)\\w*Stretch\\w*|QHeaderView::Stretch|scaleStretch");
  QMap<QString, QString> texts;
  for (const char* top : {"engine", "models", "viz", "gui", "tests", "cmake", "docs"}) {
    QDirIterator files(root + "/" + top, {"*.h", "*.cpp", "*.cmake", "*.md", "CMakeLists.txt"}, QDir::Files,
                       QDirIterator::Subdirectories);
    while (files.hasNext()) {
      const QString path = files.next().mid(root.size() + 1);
      if (path == "docs/glossary.md" || path == "tests/repository/glossary_test.cpp") continue;
      texts[path.section('/', 0, -2)] += read_text(path).remove(of_qt);
    }
  }
  return texts;
}

// "engine/session told 12": so often the module may still have the word.
QMap<std::pair<QString, QString>, int> exceptions() {
  QMap<std::pair<QString, QString>, int> allowed;
  for (const QString& line : read_text("tests/repository/former_words.txt").split('\n', Qt::SkipEmptyParts)) {
    if (line.startsWith('#')) continue;
    const QString module = line.section(' ', 0, 0), count = line.section(' ', -1);
    allowed[{module, line.section(' ', 1, -2)}] = count.toInt();
  }
  return allowed;
}

}  // namespace

// One word for each thing, the field's own. What is still called by a former word is counted in former_words.txt, which
// only gets shorter.
class GlossaryTest : public QObject {
  Q_OBJECT

  QMap<std::pair<QString, QString>, int> found_;

 private slots:
  void initTestCase() {
    const QList<FormerWord> words = former_words();
    QVERIFY(words.size() > 15);
    const QMap<QString, QString> texts = texts_by_module();
    QVERIFY(texts.contains("engine/session"));
    for (auto text = texts.begin(); text != texts.end(); ++text)
      for (const FormerWord& word : words) {
        int count = 0;
        for (auto match = word.pattern().globalMatch(*text); match.hasNext(); match.next()) ++count;
        if (count > 0) found_[{text.key(), word.word}] = count;
      }
  }

  void a_former_word_is_found_as_a_word_and_in_identifiers_and_nowhere_else() {
    const QRegularExpression told = FormerWord{"told", ""}.pattern(), two = FormerWord{"event loop", ""}.pattern();
    for (const char* text : {"is_told", "told_", "ToldMessage", "hasTold", "// Told once", "\"told\""})
      QVERIFY2(told.match(text).hasMatch(), text);
    for (const char* text : {"toldest", "untold", "stolds", "Bartold"}) QVERIFY2(!told.match(text).hasMatch(), text);
    QVERIFY(two.match("an event\n// loop").hasMatch());
  }

  void no_former_word_is_used_more_often_than_the_exceptions_say() {
    const auto allowed = exceptions();
    const QList<FormerWord> words = former_words();
    QStringList wrong;
    for (auto one = found_.begin(); one != found_.end(); ++one) {
      const auto& [module, word] = one.key();
      if (*one <= allowed.value(one.key())) continue;
      const auto former = std::ranges::find(words, word, &FormerWord::word);
      wrong << QString("%1 says '%2' %3 times (%4 are left): say %5")
                   .arg(module, word)
                   .arg(*one)
                   .arg(allowed.value(one.key()))
                   .arg(former->now);
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
  }

  void an_exception_that_is_needed_no_more_is_gone() {
    QStringList wrong;
    const auto allowed = exceptions();
    for (auto one = allowed.begin(); one != allowed.end(); ++one)
      if (!found_.contains(one.key())) wrong << one.key().first + " " + one.key().second;
    QVERIFY2(wrong.isEmpty(), qPrintable("tests/repository/former_words.txt: " + wrong.join(", ")));
  }
};

REGISTER_TEST(GlossaryTest)

}  // namespace glossary_test

#include "glossary_test.moc"
