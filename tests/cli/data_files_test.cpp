#include <signal.h>
#include <sys/stat.h>

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/session/processes.h"
#include "tests/cli/program.h"

namespace data_files_test {

using namespace shardscope;

namespace {

const QStringList small = {"--set", "model.seq_len=16",   "--set", "model.embed_dim=32",   "--set", "model.ff_dim=64",
                           "--set", "data.batch_size=16", "--set", "data.evaluate_every=2"};

}  // namespace

// Run files that name files of data.
class DataFilesTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  QString file_;  // the preset, copied with its text

  QString text() const { return folder_.filePath("runs/tiny_text.txt"); }
  void put_text_back() const {
    QFile::remove(text());
    QVERIFY(QFile::copy(SHARDSCOPE_SOURCE_DIR "/presets/tiny_text.txt", text()));
  }
  static void append(const QString& path) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::Append));
    file.write("x");
  }
  // A run without an end that has trained so far.
  void start(QProcess& process, const QStringList& more, const QByteArray& until = "Step 5:") const {
    process.start(QCoreApplication::applicationFilePath(),
                  QStringList{"train", file_, "--steps", "100000000"} + small + more);
    QByteArray output;
    while (!output.contains(until) && process.waitForReadyRead(300'000)) output += process.readAllStandardOutput();
    QVERIFY2(output.contains(until), process.readAllStandardError().constData());
  }

 private slots:
  void initTestCase() {
    QVERIFY(QDir(folder_.path()).mkpath("runs"));
    file_ = folder_.filePath("runs/mine.json");
    QVERIFY(QFile::copy(preset("tiny_text"), file_));
    QVERIFY(
        QFile::copy(QString(SHARDSCOPE_SOURCE_DIR "/presets/tiny_text.txt"), folder_.filePath("runs/tiny_text.txt")));
  }

  void a_path_is_relative_to_the_run_file_wherever_the_program_runs() {
    const ProgramResult result = shardrun({"validate", file_});
    QCOMPARE(result.output + result.errors, QString());
    QCOMPARE(result.code, 0);
  }

  void a_path_of_an_assignment_is_relative_to_where_the_program_runs() {
    QFile text("data_files_test_text.txt");
    QVERIFY(text.open(QIODevice::WriteOnly));
    text.write(QByteArray(20000, 'x'));
    text.close();
    const ProgramResult result = shardrun({"validate", file_, "--set", "data.path=" + text.fileName()});
    text.remove();
    QCOMPARE(result.errors, QString());
  }

  void a_machine_of_the_run_file_is_relative_to_it_wherever_the_program_runs() {
    save_machine(reference_host(), folder_.filePath("runs/machine.json").toStdString());
    const QString named = folder_.filePath("runs/on_a_machine.json");
    QFile mine(file_), file(named);
    QVERIFY(mine.open(QIODevice::ReadOnly) && file.open(QIODevice::WriteOnly));
    const QByteArray run = R"({"machine": "machine.json",)" + mine.readAll().mid(1);
    QCOMPARE(file.write(run), run.size());
    file.close();
    QCOMPARE(shardrun({"plan", named}).code, 0);
    QVERIFY(QFile::remove(folder_.filePath("runs/machine.json")));
    const ProgramResult missing = shardrun({"plan", named});
    QCOMPARE(missing.code, exit_bad_input);
    QVERIFY2(missing.errors.contains(folder_.filePath("runs/machine.json")), qPrintable(missing.errors));
  }

  void ranks_train_and_evaluate_on_it() {
    const QString steps = folder_.filePath("steps.jsonl");
    const ProgramResult result = shardrun(QStringList{"train", file_, "--steps", "4", "--jsonl", steps} + small);
    QCOMPARE(result.code, 0);
    const QStringList evaluated = result.output.split('\n').filter("Val loss = ");
    QCOMPARE(evaluated.size(), 2);
    QVERIFY(evaluated[1].startsWith("Step 3:"));
    QFile file(steps);
    QVERIFY(file.open(QIODevice::ReadOnly));
    int step = 0;
    for (const QByteArray& line : file.readAll().trimmed().split('\n')) {
      const QJsonObject json = QJsonDocument::fromJson(line).object();
      QCOMPARE(json.contains("val_loss"), step % 2 == 1);
      QCOMPARE(json["learning_rate"].toDouble(), 0.003 * step / 20);
      ++step;
    }
    QCOMPARE(step, 4);
  }

  void what_the_file_lacks_is_reported_at_its_line() {
    const auto fault = [&](const QStringList& more) {
      const ProgramResult result = shardrun(QStringList{"train", file_} + more);
      return result.code == 2 ? result.errors : QString("exit code %1").arg(result.code);
    };
    const QString longer = fault({"--set", "data.batch_size=4096"});
    QVERIFY2(longer.startsWith("--set data.batch_size=4096: data.path: what is trained on has "), qPrintable(longer));
    QFile::rename(folder_.filePath("runs/tiny_text.txt"), folder_.filePath("runs/tiny_texts.txt"));
    const QString missing = fault({});
    QFile::rename(folder_.filePath("runs/tiny_texts.txt"), folder_.filePath("runs/tiny_text.txt"));
    QVERIFY2(missing.startsWith(file_ + ":"), qPrintable(missing));
    QVERIFY2(missing.contains(": data.path: there is no file or folder '") && missing.contains("'tiny_texts.txt'"),
             qPrintable(missing));
  }

  void changed_data_are_refused_before_ranks_are_started_unless_they_are_allowed() {
    const QString saved = folder_.filePath("saved");
    const QStringList train = QStringList{"train", file_} + small;
    QCOMPARE(shardrun(train + QStringList{"--steps", "2", "--checkpoint", saved}).code, 0);
    append(text());
    const QStringList resume = train + QStringList{"--steps", "3", "--resume", saved, "--set", "seed=9"};
    const ProgramResult refused = shardrun(resume);
    QCOMPARE(refused.code, exit_bad_input);
    QCOMPARE(refused.output, QString());
    QVERIFY2(refused.errors.startsWith(saved + "/step_000002: the data changed since it was written: data.path: "
                                               "'tiny_text.txt' had 59936 bytes and has 59937") &&
                 refused.errors.contains("--allow-changed-data"),
             qPrintable(refused.errors));
    const ProgramResult allowed = shardrun(resume + QStringList{"--allow-changed-data"});
    put_text_back();
    QCOMPARE(allowed.code, 0);
    QVERIFY2(allowed.errors.contains("warning: the data changed since it was written: "), qPrintable(allowed.errors));
    QVERIFY2(allowed.errors.contains("changed since it was written: seed: 0 -> 9"), qPrintable(allowed.errors));
    QCOMPARE(allowed.output.split('\n').filter("Step ").size(), 1);
  }

  void data_that_change_during_a_run_end_its_restart() {
    for (const bool allowed : {false, true}) {
      QProcess process;
      start(process,
            QStringList{"--max-restarts", "1"} + (allowed ? QStringList{"--allow-changed-data"} : QStringList{}));
      append(text());
      ::kill(descendants(static_cast<int>(process.processId())).back().pid, SIGKILL);
      QByteArray errors;
      if (allowed) {
        const auto has_gone_on = [&] {
          return (errors += process.readAllStandardError()).contains("are not those with which the run began");
        };
        QVERIFY2(QTest::qWaitFor(has_gone_on, 300'000), errors.constData());
        ::kill(static_cast<pid_t>(process.processId()), SIGTERM);
      }
      const ProgramResult result = finish(process);
      put_text_back();
      errors += result.errors.toUtf8();
      QCOMPARE(result.code, allowed ? 128 + SIGTERM : exit_failed_run);
      QVERIFY2(errors.contains("starting again from step 0 (restart 1)"), errors.constData());
      QVERIFY2(errors.contains("the files that this rank reads are not those with which the run began: data.path: "
                               "'tiny_text.txt' had 59936 bytes and has 59937"),
               errors.constData());
    }
  }

  void a_file_that_is_cut_short_during_a_run_ends_it_with_its_name_and_sizes() {
    QProcess process;
    start(process, {});
    QVERIFY(QFile::resize(text(), 1000));
    const ProgramResult result = finish(process);
    put_text_back();
    QCOMPARE(result.code, exit_failed_run);
    QVERIFY2(result.errors.contains(text() + ": it had 59936 bytes when the run began and has 1000"),
             qPrintable(result.errors));
    QVERIFY2(!result.errors.contains("SIG"), qPrintable(result.errors));
  }

  void what_is_no_regular_file_is_refused_and_not_waited_for() {
    const QString fifo = folder_.filePath("fifo.json");
    QCOMPARE(::mkfifo(fifo.toUtf8().constData(), 0600), 0);
    for (const QStringList& call : {QStringList{"validate", fifo},
                                    {"plan", fifo},
                                    {"train", fifo},
                                    {"show", fifo, "params"},
                                    {"train", file_, "--profile", fifo},
                                    {"train", file_, "--hostfile", fifo},
                                    {"plan", file_, "--specs", fifo},
                                    {"validate", file_, "--set", "data.path=" + fifo},
                                    {"train", file_, "--set", "data.validation_path=" + fifo}}) {
      const ProgramResult result = shardrun(call);
      QVERIFY2(result.code == exit_bad_input, qPrintable(call.join(' ') + ": " + result.errors));
      QVERIFY2(result.errors.contains("regular file"), qPrintable(call.join(' ') + ": " + result.errors));
    }
  }

  void a_token_beyond_the_vocabulary_ends_the_run_with_its_place() {
    const ProgramResult result =
        shardrun(QStringList{"train", file_, "--steps", "2"} + small + QStringList{"--set", "model.vocab_size=100"});
    QCOMPARE(result.code, 1);
    QVERIFY2(result.errors.contains("beyond the model's vocabulary of 100"), qPrintable(result.errors));
    QVERIFY2(result.errors.contains("tiny_text.txt"), qPrintable(result.errors));
  }
};

REGISTER_PROGRAM_TEST(DataFilesTest)

}  // namespace data_files_test

#include "data_files_test.moc"
