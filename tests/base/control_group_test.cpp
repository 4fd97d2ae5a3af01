#include "engine/base/control_group.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QtTest>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>

#include "tests/patience.h"
#include "tests/test_program.h"

namespace control_group_test {

using namespace shardscope;

namespace {

// Made, where the system lets us, for the processes of one test.
struct Group {
  std::string folder;
  explicit Group(const ControlGroup& parent, const std::string& name = "") {
    if (parent.folders.empty()) return;
    folder = parent.folders[0] + "/shardscope-test-" + std::to_string(::getpid()) + name;
    if (::mkdir(folder.c_str(), 0755) != 0) folder.clear();
  }
  ~Group() {
    if (!folder.empty()) ::rmdir(folder.c_str());
  }
  // False where the system does not let us.
  bool limit_memory(const ControlGroup& parent, int64_t bytes) const {
    if (folder.empty()) return false;
    std::ofstream limit(folder + (parent.unified ? "/memory.max" : "/memory.limit_in_bytes"));
    if (!limit || !(limit << bytes).flush()) return false;
    std::ofstream(folder + "/memory.swap.max") << 0;
    return true;
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

void take_memory() {
  constexpr size_t bytes = 64 << 20;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 1, bytes);
}

}  // namespace

class ControlGroupTest : public QObject {
  Q_OBJECT

 private slots:
  void a_memory_limit_of_the_group_or_above_is_known();
  void a_kill_for_lack_of_memory_counts_in_its_own_group_and_above();
  void a_group_that_is_removed_takes_no_kill_of_another_with_it();
  void this_process_is_not_frozen();
  void without_groups_nothing_is_known();
};

void ControlGroupTest::a_memory_limit_of_the_group_or_above_is_known() {
  const ControlGroup own = control_group("self", "memory");
  const Group group(own);
  if (!group.limit_memory(own, 64 << 20)) QSKIP("no memory limit may be set here");
  QVERIFY(usable_memory_bytes() > 64 << 20);
  QVERIFY(group.holds([] { return memory_limit_bytes() == 64 << 20 && usable_memory_bytes() == 64 << 20; }));
}

void ControlGroupTest::a_kill_for_lack_of_memory_counts_in_its_own_group_and_above() {
  const ControlGroup own = control_group("self", "memory");
  const Group group(own), beside(own, "-beside");
  if (!group.limit_memory(own, 16 << 20)) QSKIP("no memory limit may be set here");
  const OutOfMemoryKills ours(::getpid());
  int go[2];
  QVERIFY(::pipe(go) == 0);
  const int pid = ::fork();
  if (pid == 0) {
    std::ofstream(group.folder + "/cgroup.procs") << ::getpid();
    char byte = 0;
    if (::read(go[0], &byte, 1) != 1) ::_exit(1);
    take_memory();
    ::_exit(0);
  }
  QTRY_VERIFY_WITH_TIMEOUT(!control_group(std::to_string(pid), "memory").folders.empty() &&
                               control_group(std::to_string(pid), "memory").folders[0] == group.folder,
                           patience);
  const OutOfMemoryKills theirs(pid);
  RecentOutOfMemoryKills recent(::getpid(), 0);
  const int other = ::fork();
  if (other == 0) {
    std::ofstream(beside.folder + "/cgroup.procs") << ::getpid();
    for (;;) ::pause();
  }
  QTRY_VERIFY_WITH_TIMEOUT(control_group(std::to_string(other), "memory").folders[0] == beside.folder, patience);
  const OutOfMemoryKills others(other);
  QVERIFY(::write(go[1], "", 1) == 1);
  int status = 0;
  QCOMPARE(::waitpid(pid, &status, 0), pid);
  ::close(go[0]), ::close(go[1]);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  if (!WIFSIGNALED(status)) QSKIP("the limit on memory does not hold here");
  QCOMPARE(theirs.since(), 1);
  QCOMPARE(ours.since(), 1);
  QCOMPARE(others.since(), 0);
  constexpr int64_t interval = RecentOutOfMemoryKills::interval_ns;
  for (const auto& [now, kills] :
       {std::pair{interval / 2, 1}, {interval, 1}, {2 * interval - 1, 1}, {2 * interval, 0}}) {
    recent.resume(now);
    QCOMPARE(recent.count(), kills);
  }
}

void ControlGroupTest::a_group_that_is_removed_takes_no_kill_of_another_with_it() {
  const ControlGroup own = control_group("self", "memory");
  const auto is_killed_in = [&own](const Group& group) {
    return group.limit_memory(own, 16 << 20) && !group.holds([] {
      take_memory();
      return true;
    });
  };
  std::optional<Group> first(std::in_place, own, "-first");
  const Group second(own, "-second");
  if (!is_killed_in(*first)) QSKIP("the limit on memory does not hold here");
  const OutOfMemoryKills ours(::getpid());
  first.reset();
  QVERIFY(is_killed_in(second));
  QCOMPARE(ours.since(), 1);
}

void ControlGroupTest::this_process_is_not_frozen() {
  QVERIFY(!is_frozen(::getpid()));
  resume_alone({::getpid()});
  QVERIFY(!is_frozen(::getpid()));
}

void ControlGroupTest::without_groups_nothing_is_known() {
  QVERIFY(control_group("0", "memory").folders.empty());
  QVERIFY(unified_control_group("no process").folders.empty());
  QVERIFY(!is_frozen(0));
}

REGISTER_TEST(ControlGroupTest)

}  // namespace control_group_test

#include "control_group_test.moc"
