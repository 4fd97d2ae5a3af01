#include "engine/base/loaded_code.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

using namespace shardscope;

// Called with an argument it tells its own code.
class LoadedCodeTest : public QObject {
  Q_OBJECT

 private slots:
  void a_copy_under_another_name_is_the_same_code() {
    const std::string own = loaded_code();
    QVERIFY2(own.find("program ") != std::string::npos, own.c_str());
    QCOMPARE(loaded_code(), own);
    QTemporaryDir folder;
    const QString copy = folder.filePath("another name");
    QVERIFY(QFile::copy(QCoreApplication::applicationFilePath(), copy));
    QCOMPARE(code_of(copy), own);
  }

  void builds_that_differ_are_distinguished() {
    QCOMPARE(code_not_in("libm.so.6 1f, program 2a", "libm.so.6 1f, program 2b"), std::string("program 2a"));
    QCOMPARE(code_not_in("libm.so.6 1f, program 2a", "program 2a, libm.so.6 1f"), std::string());
    QCOMPARE(code_not_in("libm.so.6 1f, program 2a", ""), std::string("libm.so.6 1f, program 2a"));
    QCOMPARE(code_not_in("", "program 2a"), std::string());
  }

 private:
  static std::string code_of(const QString& program) {
    QProcess process;
    process.start(program, {"--tell-code"});
    process.waitForFinished();
    return process.readAllStandardOutput().toStdString();
  }
};

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--tell-code") return std::printf("%s", loaded_code().c_str()) < 0;
  QCoreApplication application(argc, argv);
  LoadedCodeTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "loaded_code_test.moc"
