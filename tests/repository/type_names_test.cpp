#include <QFile>
#include <QMap>
#include <QProcess>
#include <QRegularExpression>
#include <QTest>

#include "tests/test_program.h"

namespace type_names_test {

// The compiler checks one translation unit at a time: of two types with one name the program has the constructors and
// containers of either, and breaks where it uses those of the other.
class TypeNamesTest : public QObject {
  Q_OBJECT

 private slots:
  void every_type_has_a_name_of_its_own() {
    QProcess git;
    git.setWorkingDirectory(SHARDSCOPE_SOURCE_DIR);
    git.start("git", {"ls-files", "engine/*.cpp", "engine/*.h", "models/*.cpp", "models/*.h", "viz/*.cpp", "viz/*.h",
                      "gui/*.cpp", "gui/*.h"});
    QVERIFY2(git.waitForFinished() && git.exitCode() == 0, "git lists the sources");
    static const QRegularExpression opening("^namespace ?([\\w:]*) \\{$"), closing("^\\}  // namespace"),
        type(
            "^(?:template .*> )?(?:struct|class|enum|enum class|union) (?:alignas\\(\\S+\\) )?([\\w:]+)(?: final)?"
            "(?: : [^;]*)?(?: \\{.*)?$");
    QMap<QString, QStringList> places;
    for (const QString& source : QString::fromUtf8(git.readAllStandardOutput()).split('\n', Qt::SkipEmptyParts)) {
      QFile file(QString(SHARDSCOPE_SOURCE_DIR "/") + source);
      QVERIFY2(file.open(QIODevice::ReadOnly), qPrintable(source));
      QStringList spaces;
      for (const QString& line : QString::fromUtf8(file.readAll()).split('\n')) {
        if (const auto match = opening.match(line); match.hasMatch()) spaces << match.captured(1);
        else if (closing.match(line).hasMatch() && !spaces.isEmpty()) spaces.removeLast();
        const QRegularExpressionMatch match = type.match(line);
        // A type in a namespace without a name is its translation unit's own.
        if (match.hasMatch() && !spaces.contains(QString()))
          places[spaces.join("::") + "::" + match.captured(1)] << source;
      }
    }
    QVERIFY2(places.size() > 800, qPrintable(QString::number(places.size())));
    QStringList found;
    for (auto place = places.cbegin(); place != places.cend(); ++place)
      if (place->size() > 1) found << place.key() + ": " + place->join(", ");
    QVERIFY2(found.isEmpty(), qPrintable("two types have one name:\n" + found.join('\n')));
  }
};

REGISTER_TEST(TypeNamesTest)

}  // namespace type_names_test

#include "type_names_test.moc"
