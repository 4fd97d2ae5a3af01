#include "engine/base/control_group.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QtTest>
#include <fstream>
#include <functional>

using namespace shardscope;

namespace {

// Made, where the system lets us, for the processes of one test.
struct Group {
  std::string folder;
  explicit Group(const ControlGroup& parent) {
    if (parent.folders.empty()) return;
    folder = parent.folders[0] + "/shardscope-test-" + std::to_string(::getpid());
    if (::mkdir(folder.c_str(), 0755) != 0) folder.clear();
  }
  ~Group() {
    if (!folder.empty()) ::rmdir(folder.c_str());
  }
  // What holds in a process of the group.
  bool holds(const std::function<bool()>& claim) const {
    const int pid = ::fork();
    if (pid == 0) {
      std::ofstream(folder + "/cgroup.procs") << ::getpid();
      ::_exit(claim() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    return status == 0;
  }
};

}  // namespace

class ControlGroupTest : public QObject {
  Q_OBJECT

 private slots:
  void a_memory_limit_of_the_group_or_above_is_known();
  void this_process_is_not_frozen();
  void without_groups_nothing_is_known();
};

void ControlGroupTest::a_memory_limit_of_the_group_or_above_is_known() {
  const ControlGroup own = control_group("self", "memory");
  const Group group(own);
  std::ofstream limit(group.folder + (own.unified ? "/memory.max" : "/memory.limit_in_bytes"));
  if (group.folder.empty() || !limit || !(limit << (64 << 20)).flush()) QSKIP("no memory limit may be set here");
  QVERIFY(usable_memory_bytes() > 64 << 20);
  QVERIFY(group.holds([] { return memory_limit_bytes() == 64 << 20 && usable_memory_bytes() == 64 << 20; }));
}

void ControlGroupTest::this_process_is_not_frozen() {
  QVERIFY(!is_frozen(::getpid()));
  thaw_alone({::getpid()});
  QVERIFY(!is_frozen(::getpid()));
}

void ControlGroupTest::without_groups_nothing_is_known() {
  QVERIFY(control_group("0", "memory").folders.empty());
  QVERIFY(unified_control_group("no process").folders.empty());
  QVERIFY(!is_frozen(0));
}

QTEST_APPLESS_MAIN(ControlGroupTest)
#include "control_group_test.moc"
