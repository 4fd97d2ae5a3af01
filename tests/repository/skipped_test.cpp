#include <QProcess>
#include <QTest>

#include "tests/test_program.h"

namespace skipped_test {

// What `./run test` says at its end of the tests that were skipped (tests/skipped.awk).
class SkippedTest : public QObject {
  Q_OBJECT

  static QString said(const QByteArray& log) {
    QProcess awk;
    awk.start("awk", {"-f", SHARDSCOPE_SOURCE_DIR "/tests/skipped.awk"});
    awk.write(log);
    awk.closeWriteChannel();
    if (!awk.waitForFinished() || awk.exitCode() != 0) return "awk failed";
    return QString::fromUtf8(awk.readAllStandardOutput());
  }

  // What this very program prints of a skipped test.
  static QByteArray own_line() {
    QProcess program;
    program.start(QCoreApplication::applicationFilePath(), {"skipped_test", "is_skipped"});
    return program.waitForFinished() ? program.readAllStandardOutput() : QByteArray();
  }

 private slots:
  void is_skipped_data() {
    QTest::addColumn<int>("row");
    QTest::newRow("a row (of two)") << 1;
    QTest::newRow("another") << 2;
  }
  void is_skipped() {
    if (QCoreApplication::arguments().contains("is_skipped")) QSKIP("nothing here (but a reason)");
  }

  void each_reason_is_said_once_with_its_test_and_how_many_more() {
    QCOMPARE(said(own_line()),
             QString("Skipped:\n  skipped_test is_skipped and 1 more: nothing here (but a reason)\n"));
    QCOMPARE(said("PASS   : a::A::b()\nSKIP   : a::A::b() one\nSKIP   : c::C::d() one\nSKIP   : a::A::e() two words\n"),
             QString("Skipped:\n  a b: one\n  c d: one\n  a e: two words\n"));
  }

  void where_none_is_skipped_nothing_is_said() { QCOMPARE(said("PASS   : a::A::b()\n"), QString()); }
};

REGISTER_CORE_TEST(SkippedTest)

}  // namespace skipped_test

#include "skipped_test.moc"
