#include <QDateTime>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include "tests/test_program.h"

namespace registered_test {

// The lists of functions that the build writes (cmake/registered.cmake).
class RegisteredTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  QString write(const QString& name, const QByteArray& text) const {
    QFile file(folder_.filePath(name));
    return file.open(QIODevice::WriteOnly) && file.write(text) == text.size() ? file.fileName() : QString();
  }

  QString output() const { return folder_.filePath("list.cpp"); }

  // What CMake prints.
  QString run(const QStringList& sources) const {
    QProcess cmake;
    cmake.setProcessChannelMode(QProcess::MergedChannels);
    cmake.start("cmake", {"-DROOT=" + folder_.path(), "-DOUTPUT=" + output(), "-DLIST=all", "-DHEADER=a.h",
                          "-DSIGNATURE=std::vector<int*> NAME_numbers(const Range& range)", "-DNAMESPACE=numbers",
                          "-DSOURCES=" + sources.join('|'), "-P", SHARDSCOPE_SOURCE_DIR "/cmake/registered.cmake"});
    return cmake.waitForFinished() ? QString::fromUtf8(cmake.readAll()).simplified() : cmake.errorString();
  }

  QString list() const {
    QFile file(output());
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()).simplified() : QString();
  }

 private slots:
  void init() { QFile::remove(output()); }

  void every_function_of_the_signature_is_called_in_the_order_of_names() {
    const QString first = write("first.cpp",
                                "std::vector<int*> odd_numbers(const Range& range) { return {}; }\n"
                                "// std::vector<int*> no_numbers(const Range& range) {\n"
                                "std::vector<int*> other_numbers(int range) {\n"
                                "std::vector<int> plain_numbers(const Range& range) {\n"
                                "std::vector<int*> declared_numbers(const Range& range);\n");
    const QString second = write("second.cpp", "#include <a[>\nstd::vector<int*> even_numbers(const Range& range) {\n");
    QCOMPARE(run({first, second}), QString());
    QCOMPARE(list(), QString("// Written by cmake/registered.cmake. #include \"a.h\" namespace numbers { "
                             "std::vector<int*> even_numbers(const Range& range); // second.cpp "
                             "std::vector<int*> odd_numbers(const Range& range); // first.cpp "
                             "std::vector<std::vector<int*>> all(const Range& range) { "
                             "return {even_numbers(range), odd_numbers(range)}; } } // namespace numbers"));
  }

  void a_list_that_stays_the_same_is_not_written_again() {
    const QString source = write("one.cpp", "std::vector<int*> one_numbers(const Range& range) {\n");
    QCOMPARE(run({source}), QString());
    const QDateTime long_ago = QDateTime::currentDateTime().addDays(-1);
    QFile file(output());
    QVERIFY(file.open(QIODevice::ReadWrite) && file.setFileTime(long_ago, QFileDevice::FileModificationTime));
    file.close();
    QCOMPARE(run({source}), QString());
    QCOMPARE(QFileInfo(output()).lastModified().toSecsSinceEpoch(), long_ago.toSecsSinceEpoch());
  }

  void two_functions_of_one_name_are_refused_with_their_files() {
    const QByteArray text = "std::vector<int*> one_numbers(const Range& range) {\n";
    const QString printed = run({write("first.cpp", text), write("second.cpp", text)});
    QVERIFY2(printed.contains("one_numbers() is defined in first.cpp and in second.cpp"), qPrintable(printed));
    QVERIFY(!QFile::exists(output()));
  }

  void a_list_of_nothing_is_refused() {
    const QString printed = run({write("first.cpp", "int main() {}\n")});
    QVERIFY2(printed.contains("no source defines a function 'std::vector<int*> NAME_numbers(const Range& range)'"),
             qPrintable(printed));
    QVERIFY(!QFile::exists(output()));
  }
};

REGISTER_TEST(RegisteredTest)

}  // namespace registered_test

#include "registered_test.moc"
