#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/cli/small_run.h"

namespace standard_stream_test {

using namespace shardscope;

namespace {

QByteArray bytes_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

struct Streamed {
  int code = -1;
  QByteArray output;
  QString errors;
};

Streamed with_input(const QStringList& arguments, const QByteArray& input) {
  QProcess process;
  process.start(QCoreApplication::applicationFilePath(), arguments);
  process.write(input);
  process.closeWriteChannel();
  if (!process.waitForFinished(300'000)) process.kill();
  return {process.exitCode(), process.readAllStandardOutput(), QString::fromUtf8(process.readAllStandardError())};
}

}  // namespace

// "-" is standard input where a file is read, and standard output where one is written.
class StandardStreamTest : public QObject {
  Q_OBJECT

  const QString decoder_ = preset("parallax_decoder");
  const QByteArray text_ = bytes_of(decoder_);

 private slots:
  void a_run_file_may_come_through_a_pipe_or_be_the_standard_input() {
    const QByteArray json = shardrun({"plan", decoder_, "--json"}).output.toUtf8();
    const auto hash = [](const QByteArray& plan) { return QJsonDocument::fromJson(plan).object()["hash"].toString(); };
    QVERIFY(!hash(json).isEmpty());
    QCOMPARE(hash(with_input({"plan", "-", "--json"}, text_).output), hash(json));
    QProcess redirected;
    redirected.setStandardInputFile(decoder_);
    redirected.start(QCoreApplication::applicationFilePath(), {"plan", "-", "--json"});
    QCOMPARE(hash(finish(redirected).output.toUtf8()), hash(json));
    const Streamed compared = with_input({"plan", "-", "--compare", "mesh.data=1,2,4"}, text_);
    QVERIFY2(compared.code == 0, qPrintable(compared.errors));
    QCOMPARE(compared.output.count('\n'), 4);
  }

  void its_faults_are_named_as_it_was() {
    const Streamed broken = with_input({"validate", "-"}, "{\n");
    QCOMPARE(broken.code, 2);
    QVERIFY2(broken.errors.startsWith("-:2:1: "), qPrintable(broken.errors));
    const Streamed wrong = with_input({"validate", "-"}, QByteArray(text_).replace("\"seed\"", "\"sead\""));
    QVERIFY2(wrong.errors.contains(": sead: "), qPrintable(wrong.errors));
    for (const QString& line : wrong.errors.split('\n', Qt::SkipEmptyParts)) QVERIFY(line.startsWith("-:"));
    const Streamed twice = with_input({"plan", "-", "--specs", "-"}, text_);
    QCOMPARE(twice.code, 2);
    QVERIFY2(twice.errors.contains("was read already"), qPrintable(twice.errors));
  }

  void an_export_to_it_is_what_a_file_would_hold() {
    QTemporaryDir folder;
    for (const QString kind : {"csv", "specs", "perfetto", "jax"}) {
      const QString file = folder.filePath(kind);
      QCOMPARE(shardrun({"export", decoder_, "--to", kind, file}).code, 0);
      const Streamed streamed = with_input({"export", "-", "--to", kind, "-"}, text_);
      QVERIFY2(streamed.code == 0, qPrintable(streamed.errors));
      QCOMPARE(streamed.output, bytes_of(file));
    }
    QVERIFY(!QFile::exists("-"));
    QProcess redirected;  // into a file that exists
    redirected.setStandardOutputFile(folder.filePath("csv"));
    redirected.start(QCoreApplication::applicationFilePath(), {"export", decoder_, "--to", "specs", "-"});
    QCOMPARE(finish(redirected).code, 0);
    QCOMPARE(bytes_of(folder.filePath("csv")), bytes_of(folder.filePath("specs")));
    const ProgramResult headless = shardrun({"export", decoder_, "--to", "headless", "-"});
    QCOMPARE(headless.code, 2);
    QVERIFY2(headless.errors.startsWith("-: this export is a folder"), qPrintable(headless.errors));
  }

  void the_steps_of_a_training_to_it_are_all_that_is_there() {
    const QStringList train = QStringList{"train"} + small + QStringList{"--steps", "3"};
    for (const char* name : {"-", "/dev/stdout"}) {
      const ProgramResult result = shardrun(train + QStringList{"--jsonl", name});
      QVERIFY2(result.code == 0, qPrintable(result.errors));
      const QStringList lines = result.output_lines();
      QCOMPARE(lines.size(), 3);
      for (int i = 0; i < 3; ++i) QCOMPARE(QJsonDocument::fromJson(lines[i].toUtf8()).object()["step"].toInt(-1), i);
    }
    const ProgramResult both = shardrun(train + QStringList{"--jsonl", "-", "--predictions", "-"});
    QCOMPARE(both.code, 2);
    QVERIFY2(both.errors.contains("two outputs of this call"), qPrintable(both.errors));
    const ProgramResult parameters = shardrun(train + QStringList{"--parameters", "-"});
    QCOMPARE(parameters.code, 2);
    QVERIFY2(parameters.errors.startsWith("-: the ranks write their parts"), qPrintable(parameters.errors));
  }

  void a_result_and_a_run_file_are_not_both_printed_and_each_command_says_so_alike() {
    QSet<QString> said;
    for (const QString& command : {QString("lint"), QString("search")}) {
      const ProgramResult result = shardrun({command, decoder_, "--json", "--write", "-"});
      QCOMPARE(result.code, 2);
      QCOMPARE(result.output, QString());
      said.insert(result.errors);
    }
    QCOMPARE(said.size(), 1);
    QVERIFY2(said.begin()->startsWith("--json --write -: "), qPrintable(*said.begin()));
  }

  void parameters_of_a_checkpoint_go_to_it_whole() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved"), file = folder.filePath("file");
    QCOMPARE(shardrun(QStringList{"train"} + small + QStringList{"--steps", "1", "--checkpoint", saved}).code, 0);
    QCOMPARE(shardrun({"checkpoint", "export", saved, file}).code, 0);
    const Streamed streamed = with_input({"checkpoint", "export", saved, "-"}, {});
    QVERIFY2(streamed.code == 0, qPrintable(streamed.errors));
    QVERIFY(!bytes_of(file).isEmpty());
    QVERIFY(streamed.output == bytes_of(file));
    QProcess redirected;  // from a file it may be read here and there, through a pipe not
    redirected.setStandardInputFile(file);
    redirected.start(QCoreApplication::applicationFilePath(),
                     QStringList{"checkpoint", "import", folder.filePath("imported"), "-"} + small);
    const ProgramResult imported = finish(redirected);
    QVERIFY2(imported.code == 0, qPrintable(imported.errors));
    const Streamed piped =
        with_input(QStringList{"checkpoint", "import", folder.filePath("piped"), "-"} + small, bytes_of(file));
    QCOMPARE(piped.code, 2);
    QVERIFY2(piped.errors.contains("a pipe only from its beginning"), qPrintable(piped.errors));
  }

  void a_quiet_training_prints_nothing() {
    const ProgramResult result = shardrun(QStringList{"train"} + small + QStringList{"--steps", "2", "--quiet"});
    QCOMPARE(result.code, 0);
    QCOMPARE(result.output + result.errors, QString());
    QTemporaryDir folder;
    const QStringList saves = QStringList{"train"} + small + QStringList{"--checkpoint", folder.filePath("saved")};
    QCOMPARE(shardrun(saves + QStringList{"--steps", "1", "-q"}).code, 0);
    const ProgramResult resumed =
        shardrun(saves + QStringList{"--steps", "2", "--resume", folder.filePath("saved"), "-q"});
    QCOMPARE(resumed.code, 0);
    QCOMPARE(resumed.output + resumed.errors, QString());
  }
};

REGISTER_PROGRAM_TEST(StandardStreamTest)

}  // namespace standard_stream_test

#include "standard_stream_test.moc"
