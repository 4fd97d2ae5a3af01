#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/config/parse.h"
#include "engine/config/run_file_keys.h"
#include "tests/cli/program.h"

namespace upgrade_test {

using namespace shardscope;

namespace {

QByteArray read(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void write(const QString& path, const QByteArray& text) {
  QFile file(path);
  if (file.open(QIODevice::WriteOnly)) file.write(text);
}

RunConfig config_of(const QString& path) { return load_run_config(path.toStdString()); }

}  // namespace

class UpgradeTest : public QObject {
  Q_OBJECT

 private slots:
  void a_file_of_the_first_version_says_the_same_and_is_of_the_current_one() {
    for (const QFileInfo& preset : QDir(SHARDSCOPE_SOURCE_DIR "/presets").entryInfoList({"*.json"})) {
      QTemporaryDir folder;
      const QString path = folder.filePath("run.json");
      QByteArray former = read(preset.filePath());
      QVERIFY(former.contains("  \"version\": 2,\n"));
      former.replace("  \"version\": 2,\n", "").replace("\"fastest\"", "\"cheapest\"").replace("  ", "    ");
      write(path, former);
      const RunConfig before = config_of(path);
      const ProgramResult result = shardrun({"upgrade", path});
      QVERIFY2(result.code == 0, qPrintable(result.errors));
      QCOMPARE(result.errors, path + ": rewritten\n");
      QVERIFY(config_of(path) == before);
      QCOMPARE(read(path), read(preset.filePath()));
      QCOMPARE(shardrun({"upgrade", path}).errors, path + ": is current\n");
      QCOMPARE(QDir(folder.path()).entryList(QDir::Files).size(), 1);
    }
  }

  void a_file_with_a_fault_stays_as_it_is() {
    QTemporaryDir folder;
    const QString path = folder.filePath("run.json");
    const QByteArray faulty =
        read(preset("mintext_mlp")).replace("\"seed\": 0,\n  \"steps\"", "\"sed\": 0,\n  \"steps\"");
    write(path, faulty);
    const ProgramResult result = shardrun({"upgrade", path});
    QCOMPARE(result.code, 2);
    QVERIFY(result.errors.contains("sed"));
    QCOMPARE(read(path), faulty);
  }

  void a_file_of_a_newer_version_is_refused_with_its_line() {
    QTemporaryDir folder;
    const QString path = folder.filePath("run.json");
    const QByteArray current = "\"version\": " + QByteArray::number(qint64{run_file::current_version});
    write(path, read(preset("mintext_mlp")).replace(current, "\"version\": 99"));
    for (const char* command : {"validate", "upgrade"}) {
      const ProgramResult result = shardrun({command, path});
      QCOMPARE(result.code, 2);
      QVERIFY2(result.errors.startsWith(path + ":2: version: this run file is of version 99"),
               qPrintable(result.errors));
    }
  }

  void a_fault_of_one_file_leaves_none_of_the_others_out() {
    QTemporaryDir folder;
    const QByteArray current = read(preset("mintext_mlp"));
    const QByteArray former = QByteArray(current).replace("  \"version\": 2,\n", "");
    const QStringList paths = {folder.filePath("a.json"), folder.filePath("b.json"), folder.filePath("c.json"),
                               folder.filePath("missing.json"), folder.filePath("d.json")};
    for (const QString& path : paths) {
      if (!path.endsWith("missing.json")) write(path, path == paths[1] ? QByteArray("{") : former);
    }
    const ProgramResult result = shardrun(QStringList("upgrade") + paths);
    QCOMPARE(result.code, 2);
    for (const int good : {0, 2, 4}) {
      QCOMPARE(read(paths[good]), current);
      QVERIFY2(result.errors.contains(paths[good] + ": rewritten"), qPrintable(result.errors));
    }
    QCOMPARE(read(paths[1]), QByteArray("{"));
    for (const int bad : {1, 3}) QVERIFY2(result.errors.contains(paths[bad] + ":"), qPrintable(result.errors));
  }

  void several_files_are_upgraded_by_one_call_and_standard_input_to_standard_output() {
    QTemporaryDir folder;
    const QByteArray former = read(preset("mintext_mlp")).replace("  \"version\": 2,\n", "");
    const QStringList paths = {folder.filePath("a.json"), folder.filePath("b.json")};
    for (const QString& path : paths) write(path, former);
    QCOMPARE(shardrun(QStringList("upgrade") + paths).code, 0);
    for (const QString& path : paths) QCOMPARE(read(path), read(preset("mintext_mlp")));
    QProcess piped;
    piped.start(QCoreApplication::applicationFilePath(), {"upgrade", "-"});
    piped.write(former);
    piped.closeWriteChannel();
    QCOMPARE(finish(piped).output.toUtf8(), read(preset("mintext_mlp")));
  }
};

REGISTER_PROGRAM_TEST(UpgradeTest)

}  // namespace upgrade_test

#include "upgrade_test.moc"
