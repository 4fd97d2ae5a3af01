#include <sys/resource.h>

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTemporaryFile>
#include <QtTest>
#include <algorithm>
#include <csignal>

#include "tests/cli/program.h"
#include "tests/cli/terminal.h"

namespace search_test {

using namespace shardscope;

// The commands of strategies: search, expand, export and import.
class SearchTest : public QObject {
  Q_OBJECT

 private slots:
  void what_is_written_is_the_candidate_that_was_found_and_plans_as_predicted() {
    const QTemporaryDir folder;
    const QString out = folder.filePath("best.json");
    const QStringList search = {"search",
                                preset("llama_tiny"),
                                "--devices",
                                "4",
                                "--machine",
                                "dgx_h100",
                                "--fix",
                                "pipeline=1",
                                "--fix",
                                "recompute=none",
                                "--fix",
                                "microbatch_size=2",
                                "--objective",
                                "time",
                                "--json",
                                "--write",
                                out,
                                "--candidate",
                                "2"};
    const ProgramResult result = shardrun(search);
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    const QJsonObject json = QJsonDocument::fromJson(result.output.toUtf8()).object();
    QCOMPARE(json["gap"].toDouble(), 0.0);
    const QJsonObject second = json["fastest"].toArray().at(1).toObject();
    QFile file(out);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonObject written = QJsonDocument::fromJson(file.readAll()).object();
    QCOMPARE(written["strategy"].toObject(), second["strategy"].toObject());
    const ProgramResult plan = shardrun({"plan", out, "--json", "--machine", "dgx_h100"});
    const QJsonObject planned = QJsonDocument::fromJson(plan.output.toUtf8()).object();
    QCOMPARE(planned["seconds_per_step"].toDouble(), second["seconds_per_step"].toDouble());
    QCOMPARE(planned["memory"].toObject()["total"].toDouble(), second["memory_bytes"].toDouble());

    const QString expanded = folder.filePath("expanded.json"), megatron = folder.filePath("megatron.txt");
    QCOMPARE(shardrun({"expand", out, expanded}).code, 0);
    const ProgramResult again = shardrun({"plan", expanded, "--json", "--machine", "dgx_h100"});
    QCOMPARE(QJsonDocument::fromJson(again.output.toUtf8()).object()["hash"], planned["hash"]);
    const QString data = folder.filePath("data.json"), imported = folder.filePath("imported.json");
    QCOMPARE(shardrun({"search", preset("llama_tiny"), "--devices", "2", "--fix", "data=2", "--fix", "zero=1", "--fix",
                       "recompute=full", "--fix", "microbatch_size=2", "--write", data})
                 .code,
             0);
    QCOMPARE(shardrun({"export", data, "--to", "megatron", megatron}).code, 0);
    QCOMPARE(shardrun({"import", megatron, imported, "--from", "megatron", "--run", data}).code, 0);
    QFile one(data), two(imported);
    QVERIFY(one.open(QIODevice::ReadOnly) && two.open(QIODevice::ReadOnly));
    QCOMPARE(two.readAll(), one.readAll());
  }

  void a_file_of_another_program_is_model_and_strategy_unless_a_run_file_has_the_model() {
    const QTemporaryDir folder;
    const QString toml = folder.filePath("job.toml"), out = folder.filePath("out.json"),
                  model = folder.filePath("out.config.json");
    const auto write = [&](const char* text) {
      QFile file(toml);
      QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) > 0);
    };
    const QStringList import = {"import", toml, out, "--from", "torchtitan", "--devices", "64"};
    write("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\ntensor_parallel_degree = 3\n");
    QCOMPARE(shardrun(import).code, 2);
    QVERIFY(!QFile::exists(out) && !QFile::exists(model));
    write(
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\ntensor_parallel_degree = 8\n"
        "[training]\nseq_len = 8192\nlocal_batch_size = 2\n[activation_checkpoint]\nmode = \"full\"\n");
    const ProgramResult imported = shardrun(import);
    QVERIFY2(imported.code == 0, qPrintable(imported.errors));
    const ProgramResult plan = shardrun({"plan", out, "--json", "--machine", "dgx_h100"});
    QVERIFY2(plan.code == 0, qPrintable(plan.errors));
    QFile file(out);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonObject run = QJsonDocument::fromJson(file.readAll()).object();
    QCOMPARE(run["model"].toObject()["path"].toString(), QString("out.config.json"));
    QCOMPARE(run["data"].toObject()["sequence_length"].toInt(), 8192);
    QCOMPARE(run["data"].toObject()["batch_size"].toInt(), 16);
    QCOMPARE(run["strategy"].toObject()["tensor"].toInt(), 8);
    // What is there is not written over.
    QVERIFY(QFile::remove(out));
    const ProgramResult refused = shardrun(import);
    QCOMPARE(refused.code, 2);
    QVERIFY2(refused.errors.contains("out.config.json"), qPrintable(refused.errors));
    QVERIFY(QFile::exists(model) && !QFile::exists(out));
    QVERIFY(shardrun({"import", toml, "-", "--from", "torchtitan", "--devices", "64"}).errors.contains("--run RUN"));
  }

  void more_devices_than_the_machine_has_nodes_for_are_those_of_a_larger_machine() {
    const QTemporaryDir folder;
    const QString best = folder.filePath("best.json"), sized = folder.filePath("sized.json"),
                  larger = folder.filePath("larger.json");
    const QStringList fixed = {"--fix", "data=4",         "--fix", "zero=1",
                               "--fix", "recompute=none", "--fix", "microbatch_size=1"};
    QCOMPARE(shardrun(QStringList{"search", preset("llama_tiny"), "--devices", "4", "--write", best} + fixed).code, 0);
    QFile read(best), write(sized);
    QVERIFY(read.open(QIODevice::ReadOnly) && write.open(QIODevice::WriteOnly));
    QJsonObject run = QJsonDocument::fromJson(read.readAll()).object();
    run["machine"] = QJsonObject{{"name", "dgx_h100"}, {"nodes", 1}};
    write.write(QJsonDocument(run).toJson());
    write.close();
    const ProgramResult found =
        shardrun(QStringList{"search", sized, "--devices", "16", "--fix", "tensor=4", "--write", larger} + fixed);
    QVERIFY2(found.code == 0, qPrintable(found.errors));
    const ProgramResult plan = shardrun({"plan", larger, "--json"});
    QVERIFY2(plan.code == 0, qPrintable(plan.errors));
    QFile written(larger);
    QVERIFY(written.open(QIODevice::ReadOnly));
    QCOMPARE(QJsonDocument::fromJson(written.readAll()).object()["machine"].toObject()["nodes"].toInt(), 2);
  }

  void what_an_interrupted_search_found_is_printed_and_written() {
    const QTemporaryDir folder;
    const QString out = folder.filePath("best.json");
    for (int part = 1;; part = std::min(2 * part, 64)) {
      Terminal terminal;
      QProcess process;
      process.setStandardErrorFile(terminal.path());
      process.start(QCoreApplication::applicationFilePath(),
                    {"search", preset("llama_tiny"), "--devices", "64", "--machine", "dgx_h100", "--json", "--write",
                     out, "--threads", "1"});
      const QRegularExpression share("searching (\\d+) %");
      const auto has_come_to = [&] {
        for (auto each = share.globalMatch(QString::fromUtf8(terminal.said())); each.hasNext();)
          if (each.next().captured(1).toInt() >= part) return true;
        return process.state() == QProcess::NotRunning;
      };
      QVERIFY(QTest::qWaitFor(has_come_to, 120'000));
      ::kill(static_cast<pid_t>(process.processId()), SIGINT);
      const ProgramResult result = finish(process);
      QVERIFY2(result.code != 0, "the search ended before its interrupt");
      const QJsonObject json = QJsonDocument::fromJson(result.output.toUtf8()).object();
      const QJsonArray fastest = json["fastest"].toArray();
      QCOMPARE(QFile::exists(out), !fastest.isEmpty());
      if (fastest.isEmpty()) continue;
      QCOMPARE(result.code, 128 + SIGINT);
      QCOMPARE(json["stopped"].toBool(), true);
      QFile file(out);
      QVERIFY(file.open(QIODevice::ReadOnly));
      QCOMPARE(QJsonDocument::fromJson(file.readAll()).object()["strategy"].toObject(),
               fastest.first().toObject()["strategy"].toObject());
      return;
    }
  }

  void a_file_that_exists_is_refused_before_the_search() {
    QTemporaryFile file;
    QVERIFY(file.open());
    const ProgramResult result = shardrun({"search", preset("llama_tiny"), "--write", file.fileName()});
    QCOMPARE(result.code, 2);
    QCOMPARE(result.output, QString());
    QVERIFY2(result.errors.contains(file.fileName()), qPrintable(result.errors));
    QCOMPARE(file.size(), 0);
  }

  void an_output_that_cannot_be_is_refused_before_the_search_data() {
    QTest::addColumn<QStringList>("outputs");
    QTest::addColumn<QString>("said");
    QTest::newRow("no folder for the record") << QStringList{"--resume", "nodir/x"} << "nodir/x: cannot write: No such";
    QTest::newRow("record to a stream") << QStringList{"--resume", "-"} << "--resume -: ";
    QTest::newRow("record to a device") << QStringList{"--resume", "/dev/null"} << "--resume /dev/null: ";
    QTest::newRow("no folder") << QStringList{"--write", "nodir/x.json"} << "nodir/x.json: cannot write: No such";
    QTest::newRow("two documents") << QStringList{"--json", "--write", "-"} << "--json --write -: ";
    QTest::newRow("one file for both") << QStringList{"--write", "x.json", "--resume", "./x.json"}
                                       << "x.json: two outputs";
  }
  void an_output_that_cannot_be_is_refused_before_the_search() {
    QFETCH(QStringList, outputs);
    QFETCH(QString, said);
    const ProgramResult result = shardrun(QStringList{"search", preset("llama_tiny"), "--devices", "2"} + outputs);
    QCOMPARE(result.code, 2);
    QVERIFY(result.output.isEmpty());
    QVERIFY2(result.errors.startsWith(said), qPrintable(result.errors));
  }

  void what_was_found_is_printed_where_it_cannot_be_written() {
    const QTemporaryDir folder;
    const QString record = folder.filePath("record"), out = folder.filePath("best.json");
    QProcess process;
    process.setChildProcessModifier([] {
      const rlimit none{0, 0};
      ::signal(SIGXFSZ, SIG_IGN);
      ::setrlimit(RLIMIT_FSIZE, &none);
    });
    process.start(QCoreApplication::applicationFilePath(),
                  {"search", preset("llama_tiny"), "--devices", "2", "--json", "--resume", record, "--write", out});
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, 2);
    QVERIFY(!QJsonDocument::fromJson(result.output.toUtf8())["fastest"].toArray().isEmpty());
    for (const QString& path : {record, out})
      QVERIFY2(result.errors.contains(path + ": cannot write: "), qPrintable(result.errors));
    QVERIFY(QDir(folder.path()).isEmpty());
  }

  void seconds_are_a_time_data() {
    QTest::addColumn<bool>("is_time");
    for (const char* text : {"0", "-5", "nan", "inf", "-inf"}) QTest::newRow(text) << false;
    for (const char* text : {"60", "1e10", "9.3e9", "1e300"}) QTest::newRow(text) << true;
  }
  void seconds_are_a_time() {
    QFETCH(bool, is_time);
    const QString seconds = QTest::currentDataTag();
    const ProgramResult result =
        shardrun(QStringList{"search", preset("llama_tiny"), "--devices", "2", "--json", "--seconds=" + seconds});
    QCOMPARE(result.code, is_time ? 0 : 2);
    if (is_time) QCOMPARE(QJsonDocument::fromJson(result.output.toUtf8())["gap"].toDouble(), 0.0);
    else QVERIFY2(result.errors.startsWith("--seconds " + seconds + ": "), qPrintable(result.errors));
  }

  void a_value_that_no_strategy_has_is_an_error_that_says_why_data() {
    QTest::addColumn<QString>("fixed");
    QTest::addColumn<QString>("said");
    const auto row = [](const char* fixed, const char* said) {
      QTest::newRow(fixed) << QString(fixed) << QString(said);
    };
    row("tensor=3", "3 does not divide the 4 devices");
    row("tensor=0", "'0' is no such number");
    row("data=0", "'0' is no such number");
    row("tensor=x", "'x' is no such number");
    row("pipeline=3", "3 does not divide the 4 devices");
    row("microbatch_size=5", "5 does not divide batch");
    row("zero=7", "no stage '7' of ZeRO (0 to 3)");
    row("recompute=bogus", "no recompute policy 'bogus'");
    row("recompute=ful", "did you mean 'full'?");
    row("pipeline_schedule=gpip", "did you mean 'gpipe'?");
    row("expert=2", "the model has no experts");
  }
  void a_value_that_no_strategy_has_is_an_error_that_says_why() {
    QFETCH(QString, fixed);
    QFETCH(QString, said);
    const ProgramResult result =
        shardrun({"search", preset("llama_tiny"), "--devices", "4", "--machine", "dgx_h100", "--fix", fixed});
    QCOMPARE(result.code, 2);
    QVERIFY2(result.errors.startsWith("--fix " + fixed + ": ") && result.errors.contains(said),
             qPrintable(result.errors));
  }

  void a_number_may_have_zeros_before_it() {
    const QStringList search = {"search", preset("llama_tiny"), "--devices", "2", "--machine", "dgx_h100", "--fix"};
    const ProgramResult plain = shardrun(search + QStringList{"tensor=2"});
    QCOMPARE(plain.code, 0);
    QCOMPARE(shardrun(search + QStringList{"tensor=02"}).output, plain.output);
  }

  void why_nothing_is_found_is_said() {
    const QStringList search = {"search", preset("llama_tiny"), "--devices", "4", "--machine", "dgx_h100"};
    const ProgramResult both = shardrun(search + QStringList{"--fix", "tensor=4", "--fix", "data=4"});
    QCOMPARE(both.code, 2);
    QVERIFY2(both.errors.contains("no strategy of 4 devices has all of these"), qPrintable(both.errors));
    const ProgramResult refused = shardrun(search + QStringList{"--fix", "recompute=no_such_*"});
    QCOMPARE(refused.code, 1);
    QVERIFY2(
        refused.output.contains("All candidates were refused, the first: ") && refused.output.contains("no_such_*"),
        qPrintable(refused.output));
    const ProgramResult small = shardrun(search + QStringList{"--at-most", "memory=1KB"});
    QVERIFY2(small.output.contains("Nothing is within the limits"), qPrintable(small.output));
    const ProgramResult short_of_time =
        shardrun({"search", preset("llama_tiny"), "--devices", "64", "--machine", "dgx_h100", "--seconds", "1e-9"});
    QCOMPARE(short_of_time.code, 1);
    QVERIFY2(short_of_time.output.contains("Nothing was found in the time"), qPrintable(short_of_time.output));
  }

  void bad_numbers_and_limits_are_exit_code_2_with_what_would_be_right() {
    for (const QStringList& wrong : {QStringList{"--fix", "tensr=2"}, QStringList{"--at-most", "memory=40"},
                                     QStringList{"--at-most", "speed=1"}, QStringList{"--machine", "no_such"}}) {
      const ProgramResult result = shardrun(QStringList{"search", preset("llama_tiny")} + wrong);
      QCOMPARE(result.code, 2);
      QVERIFY(result.errors.contains("("));
    }
  }

  void a_model_without_layers_is_an_error_at_its_place() {
    const ProgramResult result = shardrun({"search", preset("mintext_mlp"), "--devices", "2"});
    QCOMPARE(result.code, 2);
    QVERIFY2(result.errors.contains("mintext_mlp.json:") && result.errors.contains("model.name"),
             qPrintable(result.errors));
  }

  void nothing_within_the_limits_is_exit_code_1() {
    QCOMPARE(
        shardrun({"search", preset("llama_tiny"), "--devices", "2", "--machine", "dgx_h100", "--at-most", "memory=1KB"})
            .code,
        1);
  }
};

REGISTER_PROGRAM_TEST(SearchTest)

}  // namespace search_test

#include "search_test.moc"
