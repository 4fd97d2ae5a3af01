#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/cli/program.h"

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

  void ranks_train_and_evaluate_on_it() {
    const QString steps = folder_.filePath("steps.jsonl");
    const ProgramResult result = shardrun(QStringList{"train", file_, "--steps", "4", "--jsonl", steps} + small);
    QCOMPARE(result.code, 0);
    const QStringList evaluated = result.output.split('\n').filter("Val loss = ");
    QCOMPARE(evaluated.size(), 2);
    QVERIFY(evaluated[1].startsWith("Epoch 3:"));
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

  void what_the_file_lacks_is_told_at_its_line() {
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

  void a_token_beyond_the_vocabulary_ends_the_run_with_its_place() {
    const ProgramResult result =
        shardrun(QStringList{"train", file_, "--steps", "2"} + small + QStringList{"--set", "model.vocab_size=100"});
    QCOMPARE(result.code, 1);
    QVERIFY2(result.errors.contains("beyond the model's vocabulary of 100"), qPrintable(result.errors));
    QVERIFY2(result.errors.contains("tiny_text.txt"), qPrintable(result.errors));
  }
};

int main(int argc, char** argv) { return main_of<DataFilesTest>(argc, argv); }
#include "data_files_test.moc"
