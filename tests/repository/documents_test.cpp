#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QSet>
#include <QTest>

#include "tests/test_program.h"

namespace documents_test {

namespace {

const QString root = SHARDSCOPE_SOURCE_DIR;

QString read_text(const QString& path) {
  QFile file(root + "/" + path);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

// From the root.
QStringList documents() {
  QStringList paths = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"};
  QDirIterator files(root + "/docs", {"*.md"}, QDir::Files);
  while (files.hasNext()) paths += files.next().mid(root.size() + 1);
  return paths;
}

// Of a schema: all keys below "properties", however deep.
void collect_keys(const QJsonValue& schema, QSet<QString>& keys) {
  for (const QJsonValue& item : schema.toArray()) collect_keys(item, keys);
  const QJsonObject object = schema.toObject();
  for (auto entry = object.begin(); entry != object.end(); ++entry) {
    if (entry.key() == "properties")
      for (const QString& key : entry.value().toObject().keys()) keys += key;
    collect_keys(entry.value(), keys);
  }
}

}  // namespace

class DocumentsTest : public QObject {
  Q_OBJECT

 private slots:
  void the_readme_has_at_most_120_lines() { QVERIFY(read_text("README.md").count('\n') <= 120); }

  void every_key_of_a_run_file_is_in_its_document() {
    const QString document = read_text("docs/run-file.md");
    QSet<QString> keys;
    collect_keys(QJsonDocument::fromJson(read_text("resources/run_file.schema.json").toUtf8()).object(), keys);
    QVERIFY(keys.contains("rematerialise") && keys.contains("minimum_bytes"));
    QStringList missing;
    for (const QString& key : keys)
      if (!QRegularExpression("[`.]" + key + "`").match(document).hasMatch()) missing += key;
    QVERIFY2(missing.isEmpty(), qPrintable("docs/run-file.md lacks " + missing.join(", ")));
  }

  void every_preset_is_in_the_document_of_run_files() {
    const QString document = read_text("docs/run-file.md");
    QDirIterator files(root + "/presets", {"*.json"}, QDir::Files);
    QStringList missing;
    while (files.hasNext()) {
      const QString name = QFileInfo(files.next()).completeBaseName();
      if (!document.contains('`' + name + '`')) missing += name;
    }
    QVERIFY2(missing.isEmpty(), qPrintable(missing.join(", ")));
  }

  void a_link_leads_to_a_file_and_a_chapter_that_exist() {
    static const QRegularExpression link("\\]\\(([^)\\s]+)\\)"),
        heading("^#+ (.+)$", QRegularExpression::MultilineOption);
    static const QRegularExpression sign("[^\\w\\- ]", QRegularExpression::UseUnicodePropertiesOption);
    QStringList wrong;
    for (const QString& path : documents()) {
      const QString text = read_text(path);
      QVERIFY2(!text.isEmpty(), qPrintable(path));
      for (auto match = link.globalMatch(text); match.hasNext();) {
        const QString to = match.next().captured(1);
        if (to.contains("://")) continue;
        const QString file = to.section('#', 0, 0), chapter = to.section('#', 1);
        const QString target =
            file.isEmpty() ? path
                           : QDir::cleanPath(QFileInfo(root + "/" + path).path() + "/" + file).mid(root.size() + 1);
        bool exists = QFileInfo::exists(root + "/" + target);
        if (exists && !chapter.isEmpty()) {
          exists = false;
          const QString other = read_text(target);
          for (auto title = heading.globalMatch(other); title.hasNext();)
            exists |= title.next().captured(1).toLower().remove(sign).replace(' ', '-') == chapter;
        }
        if (!exists) wrong += path + " links " + to;
      }
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
  }

  // In backticks, from the root: `engine/ops/relu.cpp`; or a test from tests, `models/sequential_test`.
  void a_path_that_a_document_names_exists() {
    static const QRegularExpression named(
        "`((?:engine|models|viz|gui|tests|bench|presets|resources|docs|cmake|packages)/[\\w./-]*)`");
    QStringList wrong;
    for (const QString& path : documents()) {
      if (path == "CHANGELOG.md") continue;  // of former versions, too
      const QString text = read_text(path);
      for (auto match = named.globalMatch(text); match.hasNext();) {
        const QString name = match.next().captured(1);
        if (!QFileInfo::exists(root + "/" + name) && !QFileInfo::exists(root + "/tests/" + name + ".cpp"))
          wrong += path + " names " + name;
      }
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
  }
};

REGISTER_TEST(DocumentsTest)

}  // namespace documents_test

#include "documents_test.moc"
