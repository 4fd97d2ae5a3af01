#include <QFile>
#include <QRegularExpression>
#include <QTest>

#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace readme_numbers_test {

using namespace shardscope;
using namespace shardscope::test;

// Numbers of docs/run-file.md and of docs/systems.md that a plan gives.
class ReadmeNumbersTest : public QObject {
  Q_OBJECT

 private slots:
  void workshop_memory_takes_the_gibibytes_that_are_said() {
    QFile file(SHARDSCOPE_SOURCE_DIR "/docs/run-file.md");
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QString row = QString::fromUtf8(file.readAll()).section("| `workshop_memory` |", 1).section('\n', 0, 0);
    static const QRegularExpression numbers(
        "([\\d.]+) GiB, or ([\\d.]+) with `([^`]+)` recomputed.* In 4 microbatches ([\\d.]+) GiB");
    const QRegularExpressionMatch said = numbers.match(row);
    QVERIFY2(said.hasMatch(), qPrintable(row));
    const auto gibibytes = [](const std::vector<std::string>& settings) {
      const Plan plan = compile({system_run("workshop_memory", settings), reference_host()});
      return QString::number(static_cast<double>(plan.totals.memory_total) / (1 << 30), 'f', 1);
    };
    QCOMPARE(said.captured(1), gibibytes({"schedule.rematerialise=none"}));
    QCOMPARE(said.captured(2), gibibytes({"schedule.rematerialise=" + said.captured(3).toStdString()}));
    QCOMPARE(said.captured(4), gibibytes({"schedule.microbatches=4"}));
  }

  // Their memory has workspace in it, of as many threads as the machine has.
  void checkpointing_presets_keep_the_activations_and_compute_what_is_said_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<int>("rows");
    QTest::newRow("two regions") << "workshop_memory_document" << 4;
    QTest::newRow("attention alone") << "workshop_selective_document" << 4;
  }
  void checkpointing_presets_keep_the_activations_and_compute_what_is_said() {
    QFETCH(QString, preset);
    QFETCH(int, rows);
    QFile file(SHARDSCOPE_SOURCE_DIR "/docs/systems.md");
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QString chapter =
        QString::fromUtf8(file.readAll()).section("### " + preset + "\n", 1).section("\n### ", 0, 0);
    static const QRegularExpression row("\\n\\| ([^|]+) \\| [\\d,]+ \\| ([\\d,]+) \\| ([\\d.]+) \\|"),
        code("`([^`]+)`");
    int read = 0;
    for (const QRegularExpressionMatch& said : row.globalMatch(chapter)) {
      std::vector<std::string> settings;
      if (!said.captured(1).startsWith("the list"))
        settings.push_back("schedule.rematerialise=" + code.match(said.captured(1)).captured(1).toStdString());
      const PlanTotals totals = compile({system_run(preset.toStdString(), settings), reference_host()}).totals;
      QCOMPARE(QString(said.captured(2)).remove(',').toLongLong(),
               totals.memory[static_cast<size_t>(MemoryCategory::activations)]);
      QCOMPARE(said.captured(3), QString::number(totals.flops_per_device / 1e9, 'f', 2));
      ++read;
    }
    QCOMPARE(read, rows);
  }
};

REGISTER_TEST(ReadmeNumbersTest)

}  // namespace readme_numbers_test

#include "readme_numbers_test.moc"
