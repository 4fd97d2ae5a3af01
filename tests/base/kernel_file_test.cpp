#include "engine/base/kernel_file.h"

#include <QTest>

#include "tests/test_program.h"

namespace kernel_file_test {

using namespace shardscope;

class KernelFileTest : public QObject {
  Q_OBJECT

 private slots:
  void all_of_a_file_is_read() {
    QVERIFY(read_kernel_file("/proc/self/environ").find('\0') != std::string::npos);
    QVERIFY(read_kernel_file("/proc/self/status").starts_with("Name:"));
  }

  // A folder is opened, and fails when it is read, as the files of a process do that has ended meanwhile.
  void what_cannot_be_read_is_empty() {
    QCOMPARE(read_kernel_file("/proc/self/task"), std::string());
    QCOMPARE(read_kernel_file("/proc/no process/environ"), std::string());
  }
};

REGISTER_TEST(KernelFileTest)

}  // namespace kernel_file_test

#include "kernel_file_test.moc"
