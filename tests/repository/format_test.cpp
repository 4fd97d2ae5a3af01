#include <QProcess>
#include <QTest>

#include "tests/test_program.h"

namespace format_test {

// The formatter of Debian 12 (clang-format 14) and .clang-format decide how the sources look.
class FormatTest : public QObject {
  Q_OBJECT

 private slots:
  void every_source_is_as_the_formatter_would_write_it() {
    QProcess git;
    git.setWorkingDirectory(SHARDSCOPE_SOURCE_DIR);
    git.start("git", {"ls-files", "*.cpp", "*.h"});
    QVERIFY2(git.waitForFinished() && git.exitCode() == 0, "git lists the sources");
    const QStringList sources = QString::fromUtf8(git.readAllStandardOutput()).split('\n', Qt::SkipEmptyParts);
    QVERIFY(!sources.isEmpty());

    QProcess formatter;
    formatter.setWorkingDirectory(SHARDSCOPE_SOURCE_DIR);
    formatter.start("clang-format", QStringList{"--dry-run", "--Werror"} + sources);
    QVERIFY2(formatter.waitForStarted(), "clang-format is one of the packages that ./run installs");
    QVERIFY(formatter.waitForFinished(300000));
    QVERIFY2(formatter.exitCode() == 0, formatter.readAllStandardError().left(4000).constData());
  }
};

REGISTER_TEST(FormatTest)

}  // namespace format_test

#include "format_test.moc"
