#include <QFile>
#include <QRegularExpression>
#include <QTest>

#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace readme_numbers_test {

using namespace shardscope;
using namespace shardscope::test;

// Numbers of the README that a plan gives.
class ReadmeNumbersTest : public QObject {
  Q_OBJECT

 private slots:
  void workshop_memory_takes_the_gibibytes_that_are_said() {
    QFile file(SHARDSCOPE_SOURCE_DIR "/README.md");
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QString row = QString::fromUtf8(file.readAll()).section("| `workshop_memory` |", 1).section('\n', 0, 0);
    static const QRegularExpression numbers(
        "([\\d.]+) GiB, or ([\\d.]+) with `attention` made again.* In 4 microbatches ([\\d.]+) GiB");
    const QRegularExpressionMatch said = numbers.match(row);
    QVERIFY2(said.hasMatch(), qPrintable(row));
    const auto gibibytes = [](const std::vector<std::string>& settings) {
      const Plan plan = compile(system_run("workshop_memory", settings), DeviceProfile{});
      return QString::number(static_cast<double>(plan.totals.memory_total) / (1 << 30), 'f', 1);
    };
    QCOMPARE(said.captured(1), gibibytes({"schedule.rematerialise=none"}));
    QCOMPARE(said.captured(2), gibibytes({"schedule.rematerialise=attention"}));
    QCOMPARE(said.captured(3), gibibytes({"schedule.microbatches=4"}));
  }
};

REGISTER_TEST(ReadmeNumbersTest)

}  // namespace readme_numbers_test

#include "readme_numbers_test.moc"
