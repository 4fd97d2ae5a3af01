#include <QFile>
#include <QJsonDocument>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/cli/program.h"

namespace strategy_test {

using namespace shardscope;

// Strategies and machines of run files, on the command line.
class StrategyTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  // A GPT of 12 layers with these keys beside it, one a line from line 2 on.
  QString written(const QByteArray& keys) const {
    const QString path = folder_.filePath("run.json");
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write("{\"model\": {\"name\": \"nnx_gpt2\", \"num_layers\": 12},\n" + keys +
               ",\n\"data\": {\"kind\": \"random_rolled\", \"batch_size\": 64}, \"seed\": 0, \"steps\": 1,\n"
               "\"optimizer\": {\"name\": \"adamw\", \"learning_rate\": 1e-3}}");
    return path;
  }

 private slots:
  void faults_of_a_machine_are_at_their_lines_of_the_run_file_data() {
    QTest::addColumn<QByteArray>("machine");
    QTest::addColumn<QString>("fault");
    QTest::newRow("devices") << QByteArray(R"({"name": "dgx_h100", "devices": 12})")
                             << "run.json:3: machine.devices: a node has 8, of which 12 is no multiple";
    QTest::newRow("too few") << QByteArray(R"({"name": "dgx_h100", "nodes": 1})")
                             << "run.json:3: machine.nodes: the machine has 8 devices, the mesh 16 (a mesh of at most "
                                "8, or 2 nodes)";
    QTest::newRow("unknown key") << QByteArray(R"({"name": "dgx_h100", "devise": {}})")
                                 << "run.json:3: machine.devise: unknown key";
    QTest::newRow("unknown name") << QByteArray(R"("dgx_h10")") << "run.json:3: machine: no machine is called";
  }
  void faults_of_a_machine_are_at_their_lines_of_the_run_file() {
    QFETCH(QByteArray, machine);
    QFETCH(QString, fault);
    const QString file = written("\"strategy\": {\"data\": 16},\n\"machine\": " + machine);
    for (const char* command : {"plan", "lint"}) {
      const ProgramResult result = shardrun({command, file});
      QCOMPARE(result.code, exit_bad_input);
      QVERIFY2(result.errors.contains(fault), qPrintable(result.errors));
    }
    const ProgramResult given = shardrun({"plan", file, "--machine", "no_such"});
    QVERIFY2(given.errors.startsWith("machine: no machine"), qPrintable(given.errors));
  }

  void what_a_program_cannot_express_is_an_error_at_its_line_of_the_run_file() {
    const QString file = written(R"("strategy": {"data": 2,
"zero": 1, "pipeline": 4,
"recompute": "full"})");
    const ProgramResult result = shardrun({"export", file, "--to", "torchtitan", "-"});
    QCOMPARE(result.code, exit_bad_input);
    QVERIFY2(result.errors.contains("run.json:3: strategy.zero: torchtitan"), qPrintable(result.errors));
    const QString uneven = written(R"("strategy": {"pipeline": 2},
"pipeline": {"axis": "pipeline", "layers": [7, 5]})");
    for (const char* program : {"megatron", "torchtitan", "maxtext"}) {
      const ProgramResult refused = shardrun({"export", uneven, "--to", program, "-"});
      QCOMPARE(refused.code, exit_bad_input);
      QVERIFY2(refused.errors.contains("run.json:3: pipeline.layers: "), qPrintable(refused.errors));
    }
  }

  void utilisation_cost_and_range_are_said_of_devices_of_their_own() {
    const QString file = written(R"("strategy": {"data": 2, "tensor": 2},
"machine": {"name": "dgx_h100", "price_per_device_hour": 2}, "stack": "megatron")");
    const ProgramResult json = shardrun({"plan", file, "--json"}), text = shardrun({"plan", file});
    QCOMPARE(text.code, 0);
    const QJsonDocument plan = QJsonDocument::fromJson(json.output.toUtf8());
    const double hours = plan["device_hours_per_billion_tokens"].toDouble();
    QCOMPARE(plan["cost_per_billion_tokens"].toDouble(), 2 * hours);
    const double seconds = plan["seconds_per_step"].toDouble(), error = plan["evidence"]["time_error"].toDouble();
    QVERIFY(error > 0 && plan["evidence"]["measurements"].toInt() > 0);
    QCOMPARE(plan["evidence"]["seconds_per_step"][0].toDouble(), seconds / (1 + error));
    QCOMPARE(plan["evidence"]["seconds_per_step"][1].toDouble(), seconds * (1 + error));
    QVERIFY2(text.output.contains(QString("MFU %1 %").arg(100 * plan["mfu"].toDouble(), 0, 'f', 1)),
             qPrintable(text.output));
    for (const char* part : {"which cost ", "Exposed communication: ", " over tensor", "Between "})
      QVERIFY2(text.output.contains(part), qPrintable(text.output));
    QCOMPARE(plan["evidence"]["memory_measurements"], QJsonValue(0));
    QVERIFY2(text.output.contains("Memory unverified: 0 of these measurements"), qPrintable(text.output));
    const ProgramResult measured = shardrun({"plan", file, "--set", "stack=nanotron"});
    const QRegularExpression memory("Memory between .* by the mean error of \\d+ measurements, ");
    QVERIFY2(measured.output.contains(memory), qPrintable(measured.output + measured.errors));
    const ProgramResult priceless = shardrun({"plan", file, "--json", "--machine", "dgx_h100"});
    QVERIFY(priceless.code == 0 && !priceless.output.contains("cost_per_billion_tokens"));
  }
};

REGISTER_PROGRAM_TEST(StrategyTest)

}  // namespace strategy_test

#include "strategy_test.moc"
