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
        "[training]\nseq_len = 8192\nlocal_batch_size = 2\n");
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

  void bad_numbers_and_limits_are_exit_code_2_with_what_would_be_right() {
    for (const QStringList& wrong : {QStringList{"--fix", "tensr=2"}, QStringList{"--at-most", "memory=40"},
                                     QStringList{"--at-most", "speed=1"}, QStringList{"--machine", "no_such"}}) {
      const ProgramResult result = shardrun(QStringList{"search", preset("llama_tiny")} + wrong);
      QCOMPARE(result.code, 2);
      QVERIFY(result.errors.contains("("));
    }
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
