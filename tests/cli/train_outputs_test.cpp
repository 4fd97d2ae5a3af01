#include <signal.h>

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QMap>
#include <QTemporaryDir>
#include <QtTest>
#include <memory>
#include <vector>

#include "engine/session/recorded_run.h"
#include "tests/cli/small_run.h"

namespace train_outputs_test {

using namespace shardscope;

namespace {

QByteArray bytes_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void write(const QString& path, const QByteArray& text) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(text);
}

// All that is below a folder, with the bytes of files.
QMap<QString, QByteArray> contents(const QString& folder) {
  QMap<QString, QByteArray> found;
  QDirIterator at(folder, QDir::AllEntries | QDir::Hidden | QDir::System | QDir::NoDotAndDotDot,
                  QDirIterator::Subdirectories);
  while (at.hasNext()) {
    const QFileInfo info(at.next());
    found[QDir(folder).relativeFilePath(info.filePath())] = info.isFile() ? bytes_of(info.filePath()) : QByteArray();
  }
  return found;
}

// A training whose data have an end, so that it can predict.
const QStringList predicting = {preset("mintext_mlp"), "--set", "mesh.model=1"};

std::vector<int64_t> steps_of(const QString& record) {
  std::vector<int64_t> steps;
  RecordedRun(record.toStdString()).replay([&](const Message& message) {
    if (const auto* step = std::get_if<StepMessage>(&message)) steps.push_back(step->step);
  });
  return steps;
}

bool is_count_from_zero(const std::vector<int64_t>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

// What a training writes takes the place of what is there when all of the start is well, and never loses it before.
class TrainOutputsTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  QString path(const QString& name) const { return folder_->filePath(name); }
  ProgramResult train(const QStringList& more, int steps = 3) const {
    return shardrun(QStringList{"train"} + predicting + QStringList{"--steps", QString::number(steps)} + more);
  }
  QStringList all(const QString& record = "record") const {
    return {"--record",        path(record),   "--jsonl",          path("steps"), "--predictions",
            path("predicted"), "--parameters", path("parameters"), "--force"};
  }

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void a_refused_call_has_changed_nothing() {
    QCOMPARE(train(all()).code, 0);
    write(path("taken"), "mine");
    const auto before = contents(folder_->path());
    const QString nowhere = path("nowhere/x");
    const std::vector<QStringList> refused = {
        all() + QStringList{"--socket", path("taken")},
        all() + QStringList{"--tensorboard", path("taken/logs")},
        all() + QStringList{"--checkpoint", path("taken")},
        {"--tensorboard", path("logs/deep"), "--jsonl", nowhere},
        all() + QStringList{"--deadline", "nothing=3"},
        {"--record", path("record"), "--force", "--jsonl", nowhere},
        {"--predictions", path("predicted"), "--force", "--jsonl", nowhere},
        {"--record", path("record"), "--force", "--parameters", nowhere},
        {"--jsonl", path("steps"), "--force", "--predictions", nowhere},
        {"--record", path("new"), "--jsonl", path("new/messages.jsonl")},
        {"--record", path("new/deep"), "--jsonl", path("steps")},
        {"--record", path("record"), "--force", "--jsonl", path("record/./trace_latest.json")},
        {"--jsonl", path("same"), "--parameters", path("same")},
        {"--jsonl", path("same.part"), "--predictions", path("same")},
        {"--jsonl", path("new"), "--tensorboard", path("logs"), "--record", path("record")}};
    for (const QStringList& arguments : refused) {
      const ProgramResult result = train(arguments);
      QVERIFY2(result.code != 0 && result.output.isEmpty(), qPrintable(arguments.join(' ')));
      QVERIFY2(contents(folder_->path()) == before, qPrintable(arguments.join(' ') + "\n" + result.errors));
    }
  }

  void a_run_with_nothing_to_do_changes_nothing() {
    const QStringList outputs = {"--jsonl", path("steps"), "--record", path("record"), "--checkpoint", path("saved")};
    QCOMPARE(train(outputs).code, 0);
    const auto before = contents(folder_->path());
    const QStringList again = outputs + QStringList{"--force", "--resume", path("saved")};
    for (int i = 0; i < 2; ++i) {
      const ProgramResult result = train(again + QStringList{"--tensorboard", path("logs")});
      QVERIFY2(result.code == 0 && result.output.isEmpty(), qPrintable(result.errors));
      QVERIFY2(result.errors.contains("nothing to do: 3 steps are done, and the run asks for 3"),
               qPrintable(result.errors));
      QVERIFY(contents(folder_->path()) == before);
    }
    const ProgramResult exported = train(again + QStringList{"--parameters", path("parameters")});
    QVERIFY2(exported.code == 0 && exported.errors.contains("nothing to do"), qPrintable(exported.errors));
    const auto after = contents(folder_->path());
    QVERIFY(after.contains("parameters") && after["steps.old"] == before["steps"]);
    QCOMPARE(steps_of(path("record/old")).size(), size_t{3});
  }

  void a_checkpoint_that_would_be_written_over_is_refused_before_anything_is_replaced() {
    const QStringList outputs = {"--jsonl", path("steps"), "--record", path("record"), "--force"};
    const QString saved = path("saved"), other = path("other");
    QCOMPARE(train(outputs + QStringList{"--checkpoint", saved, "--save-every", "1"}).code, 0);
    QCOMPARE(train({"--checkpoint", other}).code, 0);
    const auto before = contents(folder_->path());
    for (const QStringList& refused : {QStringList{"--resume", saved + "/step_000001", "--checkpoint", saved},
                                       QStringList{"--resume", saved, "--checkpoint", other}}) {
      const ProgramResult result = train(outputs + refused, 6);
      QVERIFY2(result.code == exit_bad_input && result.output.isEmpty(), qPrintable(result.errors));
      QVERIFY2(contents(folder_->path()) == before, qPrintable(result.errors));
    }
  }

  void a_file_beside_the_predictions_is_no_matter() {
    write(path("predicted.parameters"), "mine");
    QCOMPARE(train({"--predictions", path("predicted")}).code, 0);
    QCOMPARE(bytes_of(path("predicted.parameters")), QByteArray("mine"));
    QVERIFY(QFile::exists(path("predicted")));
  }

  void what_is_replaced_goes_when_the_run_has_ended_well() {
    QCOMPARE(train(all()).code, 0);
    write(path("record/notes"), "mine");
    const auto before = contents(folder_->path());
    const ProgramResult again = train(all(), 2);
    QVERIFY2(again.code == 0 && !again.errors.contains("is kept"), qPrintable(again.errors));
    const auto after = contents(folder_->path());
    QCOMPARE(after.keys(), before.keys());
    QCOMPARE(after["steps"].count('\n'), 2);
    QCOMPARE(steps_of(path("record")).size(), size_t{2});
    QVERIFY(after["record/notes"] == "mine" && after["parameters"] != before["parameters"]);
  }

  void what_a_failed_run_would_have_replaced_is_kept_and_said() {
    QCOMPARE(train(all()).code, 0);
    const auto before = contents(folder_->path());
    const ProgramResult failed = train(all() + QStringList{"--set", "optimizer.learning_rate=1e6"}, 6);
    QCOMPARE(failed.code, exit_failed_run);
    for (const QString& kept : {path("steps.old"), path("record/old")})
      QVERIFY2(failed.errors.contains("what was there before is kept as '" + kept + "'"), qPrintable(failed.errors));
    const auto after = contents(folder_->path());
    QVERIFY(after["steps.old"] == before["steps"] && after["parameters"] == before["parameters"]);
    QVERIFY(after["predicted"] == before["predicted"] && after["steps"] != before["steps"]);
    for (const QString& name : before.keys()) {
      if (name.startsWith("record/")) QVERIFY2(after["record/old" + name.mid(6)] == before[name], qPrintable(name));
    }
    QCOMPARE(steps_of(path("record/old")).size(), size_t{3});
    QVERIFY(steps_of(path("record")).size() < 6);
  }

  void a_record_that_a_run_writes_is_refused_to_others_and_read_by_them() {
    QCOMPARE(train(all()).code, 0);
    QProcess first;
    first.start(QCoreApplication::applicationFilePath(),
                QStringList{"train"} + predicting + all() + QStringList{"--steps", "100000000"});
    QVERIFY(QTest::qWaitFor([&] { return steps_of(path("record")).size() > 3; }, 300'000));
    const ProgramResult second = train(all()), of_steps = train({"--force", "--jsonl", path("steps")});
    QVERIFY2(second.code == 2 && second.errors.contains("another run is writing it"), qPrintable(second.errors));
    QVERIFY2(of_steps.code == 2 && of_steps.errors.contains("another run is writing it"), qPrintable(of_steps.errors));
    ::kill(static_cast<pid_t>(first.processId()), SIGTERM);
    QCOMPARE(finish(first).code, exit_by_signal + SIGTERM);
    QVERIFY(is_count_from_zero(steps_of(path("record"))));
    QCOMPARE(steps_of(path("record/old")).size(), size_t{3});
  }

  void runs_that_are_started_at_once_never_mix_their_files() {
    for (bool is_there : {false, true}) {
      const QStringList outputs{"--record", path("shared"), "--jsonl", path("shared.jsonl"), "--force"};
      if (is_there) QVERIFY(QFile::exists(path("shared/record.json")));
      std::vector<std::unique_ptr<QProcess>> runs;
      for (int i = 0; i < 4; ++i) {
        runs.push_back(std::make_unique<QProcess>());
        runs.back()->start(
            QCoreApplication::applicationFilePath(),
            QStringList{"train"} + predicting + outputs +
                QStringList{"--steps", QString::number(3 + i), "--set", "data.seed=" + QString::number(i)});
      }
      int ended_well = 0;
      for (const auto& run : runs) {
        const ProgramResult result = finish(*run);
        QVERIFY2(result.code == 0 || result.code == 2, qPrintable(result.errors));
        ended_well += result.code == 0;
      }
      QVERIFY(ended_well > 0);
      const RecordedRun record(path("shared").toStdString());
      const std::vector<int64_t> steps = steps_of(path("shared"));
      QVERIFY(is_count_from_zero(steps));
      const QByteArray run_file = bytes_of(path("shared/run_file.json"));
      QVERIFY2(run_file.contains(QString("\"steps\": %1").arg(steps.size()).toUtf8()), run_file.constData());
      QVERIFY(run_file.contains(QString("\"seed\": %1").arg(steps.size() - 3).toUtf8()));
      QVERIFY(bytes_of(path("shared.jsonl")).count('\n') >= 3);
      QVERIFY(!QDir(path("shared")).exists("old") && !QFile::exists(path("shared.jsonl.old")));
    }
  }

  void an_export_of_a_checkpoint_never_writes_over_it() {
    QCOMPARE(train({"--checkpoint", path("saved")}).code, 0);
    const auto before = contents(folder_->path());
    for (const QString& name : before.keys()) {
      if (!QFileInfo(path(name)).isFile()) continue;
      const ProgramResult result = shardrun({"checkpoint", "export", path("saved"), path(name), "--force"});
      QVERIFY2(result.code == exit_bad_input && result.errors.contains("would destroy"), qPrintable(result.errors));
    }
    QVERIFY(contents(folder_->path()) == before);
  }
};

REGISTER_PROGRAM_TEST(TrainOutputsTest)

}  // namespace train_outputs_test

#include "train_outputs_test.moc"
