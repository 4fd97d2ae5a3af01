#include <sys/resource.h>

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>
#include <csignal>

#include "engine/export/export_kind.h"
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

  static void each_kind() {
    QTest::addColumn<QString>("kind");
    for (const auto* kinds : {&export_kinds(), &strategy_kinds()}) {
      for (const ExportKind& kind : *kinds) QTest::newRow(kind.name.c_str()) << QString::fromStdString(kind.name);
    }
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
    for (const QString program : {"megatron", "torchtitan", "maxtext"}) {
      const QByteArray schedule = program == "maxtext" ? "gpipe" : "1f1b";
      const QString uneven =
          written(R"("strategy": {"pipeline": 2, "microbatch_size": 4, "pipeline_schedule": ")" + schedule + R"("},
"pipeline": {"axis": "pipeline", "layers": [7, 5]})");
      const ProgramResult refused = shardrun({"export", uneven, "--to", program, "-"});
      QCOMPARE(refused.code, exit_bad_input);
      QVERIFY2(refused.errors.contains("run.json:3: pipeline.layers: "), qPrintable(refused.errors));
    }
  }

  void a_cut_that_the_program_does_not_make_is_noted_and_one_that_it_makes_may_be_said() {
    QTemporaryDir folder;
    const QString file = folder.filePath("run.json");
    const auto write = [&](const QByteArray& pipeline) {
      QFile run(file);
      return run.open(QIODevice::WriteOnly) &&
             run.write(R"({"model": {"name": "huggingface", "path": ")" SHARDSCOPE_SOURCE_DIR
                       R"(/presets/models/llama-3.1-8b"}, "strategy": {"pipeline": 4, "microbatch_size": 1},
"data": {"kind": "synthetic_lm", "batch_size": 16, "seed": 0, "sequence_length": 4096}, "seed": 0, "steps": 1,
"optimizer": {"name": "adamw", "learning_rate": 1e-3}, "machine": "dgx_h100")" +
                       pipeline + "}") > 0;
    };
    const auto cut = [&] {
      const ProgramResult plan = shardrun({"plan", file, "--json"});
      return QJsonDocument::fromJson(plan.output.toUtf8())
          .object()["pipeline"]
          .toObject()["layers"]
          .toVariant()
          .toStringList();
    };
    QVERIFY(write(""));
    const QString planned = "[" + cut().join(", ") + "]";
    QVERIFY(planned != "[8, 8, 8, 8]");
    for (const char* program : {"megatron", "torchtitan"}) {
      const ProgramResult noted = shardrun({"export", file, "--to", program, "-"});
      QVERIFY2(noted.code == 0 && noted.errors.contains(planned) && noted.errors.contains("[8, 8, 8, 8]"),
               qPrintable(noted.errors));
    }
    QVERIFY(write(R"(, "pipeline": {"layers": [8, 8, 8, 8]})"));
    QVERIFY(!shardrun({"export", file, "--to", "megatron", "-"}).errors.contains("layers"));
    QVERIFY(write(R"(, "pipeline": {"layers": [9, 8, 8, 7]})"));
    const ProgramResult refused = shardrun({"export", file, "--to", "megatron", "-"});
    QCOMPARE(refused.code, exit_bad_input);
    QVERIFY2(refused.errors.contains("pipeline.layers") && refused.errors.contains("[8, 8, 8, 8]"),
             qPrintable(refused.errors));
  }

  void no_kind_of_export_is_written_over_its_run_file_data() { each_kind(); }
  void no_kind_of_export_is_written_over_its_run_file() {
    QFETCH(QString, kind);
    const QString file = written(R"("strategy": {"data": 2})");
    const auto text = [&] {
      QFile read(file);
      return read.open(QIODevice::ReadOnly) ? read.readAll() : QByteArray();
    };
    const QByteArray before = text();
    const ProgramResult result = shardrun({"export", file, "--to", kind, file, "--force"});
    QCOMPARE(result.code, exit_bad_input);
    QVERIFY(!before.isEmpty());
    QCOMPARE(text(), before);
    QCOMPARE(QDir(folder_.path()).entryList(QDir::Files), (QStringList{"run.json"}));
  }

  void options_that_a_kind_of_export_does_not_use_are_refused_data() { each_kind(); }
  void options_that_a_kind_of_export_does_not_use_are_refused() {
    QFETCH(QString, kind);
    const ExportKind& known = find_export_kind(kind.toStdString());
    const QString file = written(R"("strategy": {"data": 2})"), out = folder_.filePath("out.tfevents");
    QList<QStringList> unused = {{"--trace", "slowest"}, {"--page", "no_such"}};
    if (known.pages.empty()) unused.append(QStringList{"--page", "layout"});
    if (!known.is_picture) unused.append(QStringList{"--size", "900x600"});
    if (!known.needs_plan)
      unused += QList<QStringList>{{"--machine", "no_such"}, {"--hosts", "a:1"}, {"--hostfile", "no_such"}};
    for (const QStringList& option : unused) {
      const ProgramResult result = shardrun(QStringList{"export", file, "--to", kind, out} + option);
      QCOMPARE(result.code, exit_bad_input);
      QVERIFY2(known.needs_run || result.errors.startsWith(option.join(' ') + ": "), qPrintable(result.errors));
      QVERIFY(!QFile::exists(out));
    }
  }

  void a_strategy_goes_to_any_file_or_device_data() {
    QTest::addColumn<QString>("kind");
    for (const ExportKind& kind : strategy_kinds())
      QTest::newRow(kind.name.c_str()) << QString::fromStdString(kind.name);
  }
  void a_strategy_goes_to_any_file_or_device() {
    QFETCH(QString, kind);
    const QString file = written(R"("strategy": {"data": 2})"), out = folder_.filePath("strategy");
    const ProgramResult printed = shardrun({"export", file, "--to", kind, "-"});
    QVERIFY2(printed.code == 0 && !printed.output.isEmpty(), qPrintable(printed.errors));
    QCOMPARE(shardrun({"export", file, "--to", kind, "/dev/stdout"}).output, printed.output);
    QCOMPARE(shardrun({"export", file, "--to", kind, "/dev/null"}).code, 0);
    QCOMPARE(shardrun({"export", file, "--to", kind, out}).code, 0);
    const ProgramResult refused = shardrun({"export", file, "--to", kind, out});
    QVERIFY(refused.code == exit_bad_input && refused.errors.contains("the file exists"));
    QCOMPARE(shardrun({"export", file, "--to", kind, out, "--force"}).code, 0);
    QFile read(out);
    QVERIFY(read.open(QIODevice::ReadOnly));
    QCOMPARE(QString::fromUtf8(read.readAll()), printed.output);
    QVERIFY(read.remove());
  }

  // Nothing can be written to a file, as on a full disk.
  void a_file_is_written_whole_or_not_at_all_data() {
    QTest::addColumn<QStringList>("command");  // OUT is the file that it writes
    const QString file = folder_.filePath("run.json");
    for (const ExportKind& kind : strategy_kinds()) {
      const QString name = QString::fromStdString(kind.name);
      QTest::newRow(kind.name.c_str()) << QStringList{"export", file, "--to", name, "OUT"};
    }
    QTest::newRow("csv") << QStringList{"export", file, "--to", "csv", "OUT"};
    QTest::newRow("expand") << QStringList{"expand", file, "OUT"};
    QTest::newRow("new") << QStringList{"new", SHARDSCOPE_SOURCE_DIR "/presets/models/llama_tiny", "OUT"};
    QTest::newRow("lint") << QStringList{"lint", file, "--write", "OUT"};
    QTest::newRow("search") << QStringList{"search", preset("llama_tiny"), "--devices", "1", "--write", "OUT"};
  }
  void a_file_is_written_whole_or_not_at_all() {
    QFETCH(QStringList, command);
    QVERIFY(!written(R"("strategy": {"data": 2})").isEmpty());
    const QString out = folder_.filePath("out.json");
    command.replaceInStrings("OUT", out);
    const auto run = [&](bool is_full) {
      QProcess process;
      if (is_full) {
        process.setChildProcessModifier([] {
          const rlimit none{0, 0};
          ::signal(SIGXFSZ, SIG_IGN);
          ::setrlimit(RLIMIT_FSIZE, &none);
        });
      }
      process.start(QCoreApplication::applicationFilePath(), command);
      return finish(process);
    };
    const ProgramResult full = run(true);
    QCOMPARE(full.code, exit_bad_input);
    QVERIFY2(full.errors.contains(out + ": cannot write: "), qPrintable(full.errors));
    QCOMPARE(QDir(folder_.path()).entryList(QDir::Files | QDir::Hidden), (QStringList{"run.json"}));
    const ProgramResult again = run(false);
    QVERIFY2(again.code <= 1 && QFile::exists(out), qPrintable(again.errors));
    const ProgramResult refused = run(false);
    QVERIFY2(refused.code == exit_bad_input && refused.errors.contains(out + ": "), qPrintable(refused.errors));
    QVERIFY(QFile::remove(out));
  }

  // Also where that is a regular file, which these names cannot be opened as.
  void dev_stdout_is_standard_output_whatever_that_is_data() {
    QTest::addColumn<QStringList>("command");  // OUT is the file that it writes
    const QString file = folder_.filePath("run.json");
    for (const auto* kinds : {&export_kinds(), &strategy_kinds()}) {
      for (const ExportKind& kind : *kinds) {
        const QString name = QString::fromStdString(kind.name);
        if (!kind.extension.empty() && !kind.needs_run && !kind.is_picture)
          QTest::newRow(kind.name.c_str()) << QStringList{"export", file, "--to", name, "OUT"};
      }
    }
    QTest::newRow("expand") << QStringList{"expand", file, "OUT"};
    QTest::newRow("new") << QStringList{"new", SHARDSCOPE_SOURCE_DIR "/presets/models/llama_tiny", "OUT"};
    QTest::newRow("lint") << QStringList{"lint", file, "--write", "OUT"};
  }
  void dev_stdout_is_standard_output_whatever_that_is() {
    QFETCH(QStringList, command);
    QVERIFY(!written(R"("strategy": {"data": 2})").isEmpty());
    const auto output = [&](const char* name) {
      QStringList named = command;
      named.replaceInStrings("OUT", name);
      QProcess process;
      const QString out = folder_.filePath("out");
      process.setStandardOutputFile(out);
      process.start(QCoreApplication::applicationFilePath(), named);
      const ProgramResult result = finish(process);
      QFile file(out);
      const QByteArray text = file.open(QIODevice::ReadOnly) ? file.readAll() : result.errors.toUtf8();
      file.remove();
      return text;
    };
    const QByteArray usual = output("-");
    QVERIFY(!usual.isEmpty());
    for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) QCOMPARE(output(name), usual);
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
