#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>
#include <atomic>
#include <functional>

#include "engine/machine/host_machine.h"
#include "tests/base/child_status.h"
#include "tests/checkpoint/made_checkpoint.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace checkpoint_kill_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int64_t steps = 2;

// Seen by a run and by the test that started it.
struct Shared {
  std::atomic<int> calls;      // made by all ranks
  std::atomic<int64_t> whole;  // the last step whose checkpoint has its name and is on the disk
};

Shared& shared() {
  static void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *static_cast<Shared*>(memory);
}

// When a run is killed: before the call of that number, the rank that makes it `alone_ms` before the others.
struct Death {
  int call = -1;  // never
  int alone_ms = 0;
};

// A run in a process of its own. Returns how it ended.
int run(const Plan& plan, const std::string& folder, int64_t until, int keep, bool resume, Death death = {}) {
  shared().calls = 0;
  shared().whole = 0;
  return status_of([&] {
    CheckpointOptions options;
    options.folder = folder;
    options.save_every = 1;
    options.keep = keep;
    if (resume) options.resume = folder;
    bool renamed = false;
    options.before_call = [&](std::string_view call, const std::string& path) {
      if (++shared().calls == death.call) {
        ::usleep(static_cast<useconds_t>(death.alone_ms) * 1000);
        ::kill(::getpid(), SIGKILL);
      }
      // All of a complete checkpoint's calls are rank 0's, one after the other.
      if (call == "rename" && path.ends_with(".part")) renamed = true;
      else if (renamed && call != "fsync") shared().whole = list_checkpoints(folder).back().step;
      return 0;
    };
    train_in_threads(plan, until, {}, {}, {}, options);
  });
}

}  // namespace

class CheckpointKillTest : public QObject {
  Q_OBJECT

 private slots:
  void a_run_killed_before_any_system_call_of_saving_loses_no_checkpoint_and_leaves_nothing_data() {
    QTest::addColumn<int>("alone_ms");
    QTest::addColumn<int>("every");
    QTest::newRow("all ranks at once") << 0 << 1;
    QTest::newRow("one rank before the others") << 20 << 3;
  }
  void a_run_killed_before_any_system_call_of_saving_loses_no_checkpoint_and_leaves_nothing() {
    QFETCH(int, alone_ms);
    QFETCH(int, every);
    const SystemPreset& preset = system_preset("mintext_mlp");
    const Plan plan = compile({system_run(preset.name, preset.small, {1, 2}), reference_host()});
    QTemporaryDir reference(scratch());
    QCOMPARE(run(plan, reference.path().toStdString(), steps + 1, 100, false), 0);
    std::map<int64_t, std::map<std::string, Bytes>> expected;
    for (const FoundCheckpoint& found : list_checkpoints(reference.path().toStdString())) {
      expected[found.step] = values_in(found.path);
    }
    QCOMPARE(expected.size(), static_cast<size_t>(steps + 1));
    QTemporaryDir unkilled(scratch());
    QCOMPARE(run(plan, unkilled.path().toStdString(), steps, 1, false), 0);
    const int calls = shared().calls;
    QVERIFY2(calls >= 35, qPrintable(QString::number(calls)));
    for (int call = 1; call <= calls; call += every) {
      QTemporaryDir folder(scratch());
      const std::string path = folder.path().toStdString();
      const int status = run(plan, path, steps, 1, false, {call, alone_ms});
      QVERIFY2(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, qPrintable(QString::number(call)));
      const int64_t whole = shared().whole;
      const std::vector<FoundCheckpoint> found = list_checkpoints(path);
      for (const FoundCheckpoint& one : found) QVERIFY(values_in(one.path) == expected.at(one.step));
      QVERIFY((found.empty() ? 0 : found.back().step) >= whole);
      QCOMPARE(run(plan, path, steps + 1, 1, !found.empty()), 0);
      const QStringList left = QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
      QCOMPARE(left, QStringList{"step_000003"});
      QVERIFY(values_in(path + "/step_000003") == expected.at(steps + 1));
    }
  }
};

REGISTER_TEST(CheckpointKillTest)

}  // namespace checkpoint_kill_test

#include "checkpoint_kill_test.moc"
