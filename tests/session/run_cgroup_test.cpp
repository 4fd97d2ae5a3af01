#include "engine/session/run_cgroup.h"

#include <sys/wait.h>
#include <unistd.h>

#include <QtTest>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "engine/session/processes.h"
#include "tests/test_program.h"

namespace run_cgroup_test {

using namespace shardscope;

namespace {

namespace fs = std::filesystem;

std::string folder_of(const RunCgroup& group) { return fs::path(group.entrance()).parent_path(); }

void enter(const std::string& entrance) { std::ofstream(entrance) << "0"; }

// In the group, in a session of its own.
int start_sleeper(const std::string& entrance) {
  const int pid = ::fork();
  if (pid != 0) return pid;
  enter(entrance);
  ::setsid();
  for (;;) ::pause();
}

bool has_members(const std::string& entrance, int count) {
  std::ifstream file(entrance);
  int found = 0;
  for (std::string line; std::getline(file, line);) ++found;
  return found == count;
}

bool was_killed(int pid) {
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace

class RunCgroupTest : public QObject {
  Q_OBJECT

 private slots:
  void init() {
    if (RunCgroup().entrance().empty()) QSKIP("no control group of version 2 may be made here");
  }

  void it_goes_with_its_owner() {
    std::string folder;
    {
      const RunCgroup group;
      folder = folder_of(group);
      QVERIFY(fs::is_directory(folder));
    }
    QVERIFY(!fs::exists(folder));
  }

  void a_kill_ends_all_in_it_stopped_and_frozen_ones_too_and_nobody_else() {
    std::string folder;
    const int outside = ::fork();
    for (; outside == 0;) ::pause();
    {
      const RunCgroup group;
      folder = folder_of(group);
      const int sleeper = start_sleeper(group.entrance()), stopped = start_sleeper(group.entrance());
      QVERIFY(QTest::qWaitFor([&] { return has_members(group.entrance(), 2); }, 30'000));
      ::kill(stopped, SIGSTOP);
      std::ofstream(folder + "/cgroup.freeze") << "1";
      group.kill();
      QVERIFY(was_killed(sleeper));
      QVERIFY(was_killed(stopped));
    }
    QVERIFY(!fs::exists(folder));
    QVERIFY(is_alive(identify(outside)));
    ::kill(outside, SIGKILL);
    QVERIFY(was_killed(outside));
  }

  // A child of a killed launcher may have left its session and its environment.
  void what_a_killed_launcher_has_left_goes_with_the_next() {
    int said[2];
    QVERIFY(::pipe(said) == 0);
    const int launcher = ::fork();
    if (launcher == 0) {
      const RunCgroup group;
      const int sleeper = start_sleeper(group.entrance());
      while (!has_members(group.entrance(), 1)) ::usleep(1000);
      const std::string text = std::to_string(sleeper) + " " + folder_of(group) + "\n";
      if (::write(said[1], text.data(), text.size()) > 0) ::raise(SIGKILL);
      ::_exit(1);
    }
    ::close(said[1]);
    QVERIFY(was_killed(launcher));
    char text[1000] = "", folder[1000] = "";
    int sleeper = 0;
    QVERIFY(::read(said[0], text, sizeof text - 1) > 0);
    ::close(said[0]);
    QVERIFY(std::sscanf(text, "%d %999s", &sleeper, folder) == 2);
    const ProcessId left = identify(sleeper);
    QVERIFY(is_alive(left) && fs::exists(folder));
    { const RunCgroup next; }
    QVERIFY(QTest::qWaitFor([&] { return !is_alive(left); }, 30'000));
    QVERIFY(!fs::exists(folder));
  }

  // Its name says an owner that is not alive: this process began at another time.
  void a_group_of_such_a_name_that_was_not_made_here_is_left_alone() {
    std::string parent;
    {
      const RunCgroup group;
      parent = fs::path(folder_of(group)).parent_path();
    }
    const std::string folder = parent + "/shardscope-run-" + std::to_string(::getpid()) + "-1-0";
    QVERIFY(fs::create_directory(folder));
    const int sleeper = start_sleeper(folder + "/cgroup.procs");
    const bool has_entered = QTest::qWaitFor([&] { return has_members(folder + "/cgroup.procs", 1); }, 30'000);
    { const RunCgroup next; }
    const bool is_left = fs::exists(folder) && is_alive(identify(sleeper));
    ::kill(sleeper, SIGKILL);
    QVERIFY(was_killed(sleeper));
    QVERIFY(QTest::qWaitFor([&] { return ::rmdir(folder.c_str()) == 0 || errno == ENOENT; }, 30'000));
    QVERIFY(has_entered && is_left);
  }

  void that_of_a_living_launcher_is_left_alone() {
    const RunCgroup group;
    const int sleeper = start_sleeper(group.entrance());
    QVERIFY(QTest::qWaitFor([&] { return has_members(group.entrance(), 1); }, 30'000));
    { const RunCgroup other; }
    QVERIFY(fs::exists(folder_of(group)) && is_alive(identify(sleeper)));
    group.kill();
    QVERIFY(was_killed(sleeper));
  }

 private:
  static ProcessId identify(int pid) { return look_at_process(pid).info.id; }
};

REGISTER_CORE_TEST(RunCgroupTest)

}  // namespace run_cgroup_test

#include "run_cgroup_test.moc"
