#include <sys/wait.h>
#include <unistd.h>

#include <QtTest>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>

#include "engine/base/control_group.h"
#include "engine/base/kernel_file.h"
#include "engine/base/units.h"
#include "engine/session/exit_watch.h"
#include "engine/session/processes.h"
#include "engine/session/run_cgroup.h"
#include "engine/session/run_process.h"
#include "tests/session/faulty_rank.h"

// Faults that ranks, started by the test, do to themselves, in every phase; the launcher stands in for mpirun.

using namespace shardscope;

namespace {

constexpr int64_t second = 1'000'000'000;

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

RunOptions options_with(const char* fault, RankPhase phase) {
  ::setenv("FAULT", fault, 1);
  ::unsetenv("FAULT_OF_LAUNCHER");
  ::setenv("FAULT_PHASE", name(phase).data(), 1);
  RunOptions options;
  options.config_json = "{}";
  options.plan_hash = FaultyRank::plan_hash;
  options.ranks = 3;
  options.steps = 3;
  options.plan_steps = {{"embed", Phase::forward}, {"embed_gradient", Phase::backward}, {"adam", Phase::update}};
  options.metrics = {"loss"};
  options.command = [](const std::string& session) {
    return std::vector<std::string>{own_program(), "launch", session, "3"};
  };
  options.limits.stopped_ns = second / 2;
  options.limits.shutdown_ns = second / 2;
  options.exit_grace_ns = 2 * second;
  return options;
}

struct Faulted {
  RunOutcome outcome;
  std::vector<std::string> notices;
  std::vector<RestartMessage> restarts;
  std::vector<int64_t> steps;
  bool left = false;  // a process, or the session's directory

  QString message() const { return QString::fromStdString(outcome.failure ? outcome.failure->message : ""); }
};

bool is_left(const std::string& session) {
  for (const ProcessInfo& one : all_processes()) {
    const std::string line = read_kernel_file("/proc/" + std::to_string(one.id.pid) + "/cmdline");
    if (line.find(session) != std::string::npos && is_alive(one.id)) return true;
  }
  return std::filesystem::exists(session);
}

Faulted run_with(
    RunOptions options, const std::function<void(const Message&)>& react = [](const Message&) {}) {
  Faulted faulted;
  std::string session;
  {
    RunProcess run(std::move(options));
    session = run.session_directory();
    faulted.outcome = run.run([&](const Message& message) {
      react(message);
      if (auto* log = std::get_if<LogMessage>(&message); log && log->rank == LogMessage::supervisor)
        faulted.notices.push_back(log->text);
      if (auto* restart = std::get_if<RestartMessage>(&message)) faulted.restarts.push_back(*restart);
      if (auto* step = std::get_if<StepMessage>(&message)) faulted.steps.push_back(step->step);
    });
  }
  faulted.left = is_left(session);
  return faulted;
}

// Also others than their parents, once these have waited for them.
bool tells_how_processes_ended() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(3);
  const ExitWatch watch(child);
  ::waitpid(child, nullptr, 0);
  return watch.status().has_value();
}

const std::vector<RankPhase> phases = {
    RankPhase::launching,  RankPhase::starting,     RankPhase::connecting, RankPhase::planning, RankPhase::agreeing,
    RankPhase::allocating, RankPhase::initialising, RankPhase::training,   RankPhase::saving,   RankPhase::finishing};

// What is said of where a rank was.
QString place(RankPhase phase) {
  if (phase == RankPhase::launching) return "before it could start";
  if (phase == RankPhase::training) return "in training step 2, at 'embed_gradient'";
  if (phase == RankPhase::saving) return "while writing a checkpoint";
  return QString("while %1").arg(name(phase).data());
}

void all_phases() {
  QTest::addColumn<int>("phase");
  for (RankPhase phase : phases) QTest::newRow(name(phase).data()) << static_cast<int>(phase);
}

}  // namespace

class FaultsTest : public QObject {
  Q_OBJECT

 private slots:
  void without_a_fault_the_run_is_well();
  void a_stopped_rank_is_named_with_its_phase_data() { all_phases(); }
  void a_stopped_rank_is_named_with_its_phase();
  void a_rank_that_sleeps_is_named_by_the_deadline_of_its_phase_data() { all_phases(); }
  void a_rank_that_sleeps_is_named_by_the_deadline_of_its_phase();
  void a_killed_rank_is_named_with_its_phase_data() { all_phases(); }
  void a_killed_rank_is_named_with_its_phase();
  void a_killed_rank_is_named_where_the_launcher_says_nothing_data();
  void a_killed_rank_is_named_where_the_launcher_says_nothing();
  void a_launcher_that_fails_after_the_ranks_have_finished_is_a_warning_data();
  void a_launcher_that_fails_after_the_ranks_have_finished_is_a_warning();
  void a_rank_that_exits_is_named_with_its_code_data() { all_phases(); }
  void a_rank_that_exits_is_named_with_its_code();
  void a_ranks_own_error_is_reported_in_its_words_data();
  void a_ranks_own_error_is_reported_in_its_words();
  void a_launcher_that_starts_nothing_is_named();
  void a_stopped_launcher_is_named();
  void a_frozen_rank_is_named_and_ended_data();
  void a_frozen_rank_is_named_and_ended();
  void a_debugger_is_announced_and_waited_for();
  void lack_of_memory_is_said();
  void children_that_left_the_group_are_ended_too_data();
  void children_that_left_the_group_are_ended_too();
  void a_lost_rank_is_started_again_when_asked_for();
  void a_stopped_rank_does_nothing_more_once_its_run_starts_again();
  void a_restart_that_is_impossible_ends_the_run_with_the_failure_and_why_data();
  void a_restart_that_is_impossible_ends_the_run_with_the_failure_and_why();
  void restarts_end();
  void errors_that_would_come_again_are_not_tried_again();
  void a_checkpoint_that_ended_ranks_have_left_is_named_data();
  void a_checkpoint_that_ended_ranks_have_left_is_named();
};

void FaultsTest::without_a_fault_the_run_is_well() {
  const Faulted run = run_with(options_with("", RankPhase::launching));
  QVERIFY2(run.outcome.end == RunEnd::finished, qPrintable(run.message()));
  QVERIFY((run.steps == std::vector<int64_t>{0, 1, 2}));
  QVERIFY(!run.left);
}

void FaultsTest::a_stopped_rank_is_named_with_its_phase() {
  QFETCH(int, phase);
  const auto where = static_cast<RankPhase>(phase);
  const Faulted run = run_with(options_with("stop", where));
  QCOMPARE(run.message(),
           QString("rank 2 has been stopped by a signal %1 (--deadline stopped=SECONDS)").arg(place(where)));
  QCOMPARE(run.outcome.failure->signal, std::string());
  QVERIFY(!run.left);
}

void FaultsTest::a_rank_that_sleeps_is_named_by_the_deadline_of_its_phase() {
  QFETCH(int, phase);
  const auto where = static_cast<RankPhase>(phase);
  RunOptions options = options_with("sleep", where);
  options.limits.phase_ns[static_cast<size_t>(phase)] = second;
  const Faulted run = run_with(options);
  QVERIFY2(run.message().startsWith("rank 2 has "), qPrintable(run.message()));
  QVERIFY2(run.message().contains(" for 1 s"), qPrintable(run.message()));
  QVERIFY2(run.message().endsWith(QString("(--deadline %1=SECONDS)").arg(name(where).data())),
           qPrintable(run.message()));
  QVERIFY(!run.left);
}

void FaultsTest::a_killed_rank_is_named_with_its_phase() {
  QFETCH(int, phase);
  const auto where = static_cast<RankPhase>(phase);
  const Faulted run = run_with(options_with("kill", where));
  QCOMPARE(run.message(), QString("rank 2 was killed by SIGKILL %1").arg(place(where)));
  QVERIFY(!run.left);
}

void FaultsTest::a_killed_rank_is_named_where_the_launcher_says_nothing_data() {
  QTest::addColumn<QString>("fault");
  QTest::newRow("it does not wait for the rank") << "waits for nobody";
  QTest::newRow("it has waited for the rank") << "says nothing";
}

void FaultsTest::a_killed_rank_is_named_where_the_launcher_says_nothing() {
  QFETCH(QString, fault);
  if (fault == "says nothing" && !tells_how_processes_ended()) QSKIP("this kernel tells that its parent alone");
  RunOptions options = options_with("sleep", RankPhase::training);
  ::setenv("FAULT_OF_LAUNCHER", fault.toUtf8(), 1);
  const Faulted run = run_with(options, [](const Message& message) {
    const auto* rank = std::get_if<RankStateMessage>(&message);
    if (rank && rank->rank == 2 && rank->state == RankState::running) ::kill(rank->pid, SIGKILL);
  });
  QVERIFY2(run.message().startsWith("rank 2 was killed by SIGKILL "), qPrintable(run.message()));
  QVERIFY(!run.left);
}

void FaultsTest::a_launcher_that_fails_after_the_ranks_have_finished_is_a_warning_data() {
  QTest::addColumn<QString>("fault");
  QTest::addColumn<QString>("words");
  QTest::newRow("hangs") << "hangs"
                         << "did not exit within 0.5 s (--deadline ending=SECONDS) and is ended";
  QTest::newRow("fails") << "fails"
                         << "ended with exit code 1";
  QTest::newRow("is killed") << "is killed"
                             << "was killed by SIGKILL";
}

void FaultsTest::a_launcher_that_fails_after_the_ranks_have_finished_is_a_warning() {
  QFETCH(QString, fault);
  QFETCH(QString, words);
  RunOptions options = options_with("", RankPhase::launching);
  ::setenv("FAULT_OF_LAUNCHER", fault.toUtf8(), 1);
  const Faulted run = run_with(options);
  QVERIFY2(run.outcome.end == RunEnd::finished, qPrintable(run.message()));
  QCOMPARE(run.outcome.steps, int64_t{3});
  QCOMPARE(run.steps.size(), size_t{3});
  const std::string notice =
      "warning: mpirun " + words.toStdString() + " after every rank had finished; nothing of the run is lost";
  QVERIFY2(std::ranges::count(run.notices, notice) == 1, qPrintable(QString::number(run.notices.size())));
  QVERIFY(!run.left);
}

void FaultsTest::a_rank_that_exits_is_named_with_its_code() {
  QFETCH(int, phase);
  const auto where = static_cast<RankPhase>(phase);
  const Faulted run = run_with(options_with("exit", where));
  QCOMPARE(run.message(), QString("rank 2 exited with code 3 %1").arg(place(where)));
  QVERIFY(!run.left);
}

void FaultsTest::a_ranks_own_error_is_reported_in_its_words_data() {
  QTest::addColumn<int>("phase");
  for (size_t i = 1; i < phases.size(); ++i) QTest::newRow(name(phases[i]).data()) << static_cast<int>(phases[i]);
}

void FaultsTest::a_ranks_own_error_is_reported_in_its_words() {
  QFETCH(int, phase);
  const Faulted run = run_with(options_with("error", static_cast<RankPhase>(phase)));
  QCOMPARE(run.message(), QString("rank 2 failed: the disk: cannot write: No space left on device"));
  QVERIFY(!run.left);
}

void FaultsTest::a_launcher_that_starts_nothing_is_named() {
  RunOptions options = options_with("", RankPhase::launching);
  options.command = [](const std::string&) { return std::vector<std::string>{"sleep", "1000"}; };
  options.limits.phase_ns[0] = second / 2;
  const Faulted run = run_with(options);
  QVERIFY2(run.message().startsWith("mpirun has started no rank within 0.5 s"), qPrintable(run.message()));
  QVERIFY(!run.left);
}

void FaultsTest::a_stopped_launcher_is_named() {
  RunOptions options = options_with("", RankPhase::launching);
  options.command = [](const std::string& session) {
    return std::vector<std::string>{"sh", "-c", "kill -STOP $$; : " + session};
  };
  const Faulted run = run_with(options);
  QCOMPARE(run.message(), QString("mpirun has been stopped by a signal (--deadline stopped=SECONDS)"));
  QVERIFY(!run.left);
}

void FaultsTest::a_frozen_rank_is_named_and_ended_data() {
  QTest::addColumn<QString>("fault");
  QTest::addColumn<QString>("controller");
  QTest::newRow("version 1") << "frozen 1"
                             << "freezer";
  QTest::newRow("version 2") << "frozen 2"
                             << "";
}

void FaultsTest::a_frozen_rank_is_named_and_ended() {
  QFETCH(QString, fault);
  QFETCH(QString, controller);
  const TestGroup group(controller.toStdString());
  if (group.folder().empty()) QSKIP("no control group of this kind may be made here");
  ::setenv("FAULT_GROUP", group.folder().c_str(), 1);
  const Faulted run = run_with(options_with(fault.toUtf8(), RankPhase::training));
  QCOMPARE(run.message(), QString("rank 2 has been frozen by its control group %1 (--deadline stopped=SECONDS)")
                              .arg(place(RankPhase::training)));
  QVERIFY(!run.left);
}

void FaultsTest::a_debugger_is_announced_and_waited_for() {
  const Faulted run = run_with(options_with("debugger", RankPhase::training));
  if (run.outcome.end == RunEnd::finished && run.notices.empty()) QSKIP("processes may not be debugged here");
  QVERIFY2(run.outcome.end == RunEnd::finished, qPrintable(run.message()));
  const auto of_debugger = [](const std::string& notice) {
    return notice.starts_with("rank 2 (process ") && notice.find("debugger") != std::string::npos;
  };
  for (const std::string& notice : run.notices) qInfo("%s", notice.c_str());
  QCOMPARE(std::ranges::count_if(run.notices, of_debugger), 1);
}

void FaultsTest::lack_of_memory_is_said() {
  const TestGroup group("memory");
  if (group.folder().empty()) QSKIP("no control group with a memory limit may be made here");
  group.limit_memory(32 << 20);
  ::setenv("FAULT_GROUP", group.folder().c_str(), 1);
  RunOptions options = options_with("memory", RankPhase::training);
  options.rank_bytes = 256 << 20;
  const Faulted run = run_with(options);
  QVERIFY2(run.message().startsWith("rank 2 was killed by the kernel for lack of memory (SIGKILL) in training step 2"),
           qPrintable(run.message()));
  const QString facts = QString("; the plan wants 256 MiB a rank, 768 MiB for all, and %1 can be used")
                            .arg(QString::fromStdString(bytes_text(double(usable_memory_bytes()))));
  QVERIFY2(run.message().endsWith(facts), qPrintable(run.message()));
  QVERIFY(!run.left);
}

void FaultsTest::children_that_left_the_group_are_ended_too_data() {
  QTest::addColumn<QString>("fault");
  QTest::newRow("marked by their environment") << "leave a child";
  QTest::newRow("without environment") << "leave a child without environment";
}

void FaultsTest::children_that_left_the_group_are_ended_too() {
  QFETCH(QString, fault);
  if (fault.endsWith("environment") && RunCgroup().entrance().empty())
    QSKIP("no control group of version 2 may be made here, which alone holds such a child");
  const Faulted run = run_with(options_with(fault.toUtf8(), RankPhase::training));
  QVERIFY(run.outcome.end == RunEnd::finished);
  QVERIFY(!run.left);
}

void FaultsTest::a_lost_rank_is_started_again_when_asked_for() {
  RunOptions options = options_with("kill once", RankPhase::training);
  options.max_restarts = 2;
  options.restart_step = [] { return 7; };  // of a checkpoint that turns out to be damaged
  const Faulted run = run_with(options);
  QVERIFY2(run.outcome.end == RunEnd::finished, qPrintable(run.message()));
  QCOMPARE(run.outcome.steps, int64_t{3});
  QCOMPARE(run.restarts.size(), size_t{1});
  QCOMPARE(run.restarts[0].restart, 1);
  QCOMPARE(run.restarts[0].failure.rank, 2);
  QCOMPARE(run.restarts[0].failure.signal, std::string("SIGKILL"));
  QCOMPARE(run.restarts[0].from_step, int64_t{0});
  QVERIFY((run.steps == std::vector<int64_t>{0, 1, 0, 1, 2}));
  QVERIFY(!run.left);
}

// mpirun wakes stopped ranks before it ends them.
void FaultsTest::a_stopped_rank_does_nothing_more_once_its_run_starts_again() {
  RunOptions options = options_with("stop once", RankPhase::training);
  ::setenv("FAULT_OF_LAUNCHER", "leaves ranks alone", 1);
  options.max_restarts = 1;
  std::vector<ProcessId> ranks;
  options.restart_step = [&] { return std::ranges::count_if(ranks, is_alive); };
  const Faulted run = run_with(options, [&](const Message& message) {
    if (auto* rank = std::get_if<RankStateMessage>(&message); rank && rank->state == RankState::running)
      ranks.push_back(look_at_process(rank->pid).info.id);
  });
  QVERIFY2(run.outcome.end == RunEnd::finished, qPrintable(run.message()));
  QCOMPARE(run.restarts.size(), size_t{1});
  QCOMPARE(run.restarts[0].failure.rank, 2);
  QCOMPARE(run.restarts[0].from_step, int64_t{0});
  QVERIFY((run.steps == std::vector<int64_t>{0, 1, 0, 1, 2}));
  const std::string begins = "rank 2 has been stopped by a signal", ends = "; starting again from step 0 (restart 1)";
  QCOMPARE(run.notices.size(), size_t{1});
  QVERIFY2(run.notices[0].starts_with(begins) && run.notices[0].ends_with(ends), run.notices[0].c_str());
  QVERIFY(!run.left);
}

void FaultsTest::a_restart_that_is_impossible_ends_the_run_with_the_failure_and_why_data() {
  QTest::addColumn<bool>("has_step");
  QTest::newRow("no step to go on from") << false;
  QTest::newRow("nothing to start") << true;
}

void FaultsTest::a_restart_that_is_impossible_ends_the_run_with_the_failure_and_why() {
  QFETCH(bool, has_step);
  const Failure gone(Error{"no_checkpoint", "there is no checkpoint here", in_file("/gone"), ""});
  RunOptions options = options_with("kill once", RankPhase::training);
  options.max_restarts = 1;
  options.restart_step = [&]() -> int64_t { return has_step ? 7 : throw gone; };
  options.command = [&, start = options.command, starts = 0](const std::string& session) mutable {
    return ++starts == 1 ? start(session) : throw gone;
  };
  std::vector<Message> messages;
  const Faulted run = run_with(options, [&](const Message& message) { messages.push_back(message); });
  QVERIFY(run.outcome.end == RunEnd::failed);
  QCOMPARE(run.outcome.failure->rank, 2);
  QCOMPARE(
      run.message(),
      QString("rank 2 was killed by SIGKILL %1; cannot start again: %2").arg(place(RankPhase::training), gone.what()));
  QVERIFY(run.restarts.empty());
  QVERIFY((std::get<FinishedMessage>(messages.back()) == FinishedMessage{RunEnd::failed, 2}));
  QVERIFY(!run.left);
}

void FaultsTest::restarts_end() {
  RunOptions options = options_with("kill", RankPhase::training);
  options.max_restarts = 2;
  const Faulted run = run_with(options);
  QVERIFY(run.outcome.end == RunEnd::failed);
  QCOMPARE(run.restarts.size(), size_t{2});
  QVERIFY2(run.message().endsWith("(after 2 restarts)"), qPrintable(run.message()));
  QVERIFY(!run.left);
}

void FaultsTest::errors_that_would_come_again_are_not_tried_again() {
  RunOptions options = options_with("error", RankPhase::training);
  options.max_restarts = 2;
  const Faulted run = run_with(options);
  QVERIFY(run.outcome.end == RunEnd::failed);
  QVERIFY(run.restarts.empty());
}

void FaultsTest::a_checkpoint_that_ended_ranks_have_left_is_named_data() {
  QTest::addColumn<QString>("fault");
  QTest::addColumn<int>("phase");
  QTest::addColumn<int>("times");
  QTest::newRow("a run that is well") << "" << static_cast<int>(RankPhase::saving) << 0;
  QTest::newRow("before any rank trains, when an earlier run's may be there")
      << "starts nothing" << static_cast<int>(RankPhase::launching) << 0;
  QTest::newRow("lost, and started again") << "kill once" << static_cast<int>(RankPhase::training) << 1;
  QTest::newRow("lost twice") << "kill" << static_cast<int>(RankPhase::saving) << 2;
}

void FaultsTest::a_checkpoint_that_ended_ranks_have_left_is_named() {
  QFETCH(QString, fault);
  QFETCH(int, phase);
  QFETCH(int, times);
  RunOptions options = options_with(fault.toUtf8(), static_cast<RankPhase>(phase));
  if (fault == "starts nothing") {
    options.command = [](const std::string&) { return std::vector<std::string>{"sleep", "1000"}; };
    options.limits.phase_ns[0] = second / 2;
  }
  options.max_restarts = 1;
  options.incomplete_checkpoints = [] { return std::vector<std::string>{"step_000003"}; };
  const Faulted run = run_with(options);
  QCOMPARE(std::ranges::count(run.notices, "step_000003 was not completed"), times);
  QVERIFY(!run.left);
}

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "rank") return FaultyRank::main(argv[2]);
  if (argc == 4 && std::string(argv[1]) == "launch") return launch(own_program(), argv[2], std::atoi(argv[3]));
  FaultsTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "faults_test.moc"
