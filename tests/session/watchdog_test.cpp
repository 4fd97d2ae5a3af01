#include "engine/session/watchdog.h"

#include <QtTest>
#include <csignal>
#include <random>

#include "engine/base/error.h"
#include "tests/test_program.h"

namespace watchdog_test {

using namespace shardscope;

namespace {

constexpr int64_t second = 1'000'000'000;

// A run of four ranks whose facts a test sets one by one. Their hearts beat, unless they are stuck.
struct Scene {
  std::vector<RankObservation> ranks;
  std::vector<bool> stuck = std::vector<bool>(4);
  ExitReport report;
  char launcher = 'S';
  Watchdog watchdog{7, {{"embed", Phase::forward}, {"adam", Phase::update}}, {}, {300 << 20, 1000 << 20}};

  Scene() {
    for (int i = 0; i < 4; ++i) {
      RankStatus status;
      status.rank = i;
      status.state = RankState::running;
      status.plan_hash = 7;
      status.training_step = 5;
      status.plan_step = 1;
      RankObservation observation;
      observation.status = status;
      observation.process = {100 + i, 1};
      observation.process_state = 'S';
      ranks.push_back(observation);
    }
  }
  std::optional<FailureMessage> look(int64_t now, std::optional<int> wait_status = {}) {
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i].status && !stuck[i]) ++ranks[i].status->heartbeat;
    }
    return watchdog.look({now, ranks, &report, wait_status, launcher});
  }
  // As it is before the ranks have telemetry.
  void begin(std::vector<RankPhase> phases) {
    for (size_t i = 0; i < ranks.size(); ++i) {
      ranks[i].status.reset();
      ranks[i].entry.phase = phases[i];
      ranks[i].process = phases[i] == RankPhase::launching ? ProcessId{} : ranks[i].process;
      ranks[i].entry.process = ranks[i].process;
    }
  }
  // The time at which a failure is reported, looked for in tenths of a second.
  std::pair<double, FailureMessage> wait(double most_seconds) {
    for (int64_t tenth = 0; static_cast<double>(tenth) < most_seconds * 10; ++tenth) {
      if (auto failure = look(tenth * second / 10)) return {static_cast<double>(tenth) / 10, *failure};
    }
    return {-1, {}};
  }
  void say(int rank, int64_t at, const std::string& text, bool by_peer) {
    ranks[rank].entry.failed_ns = at;
    ranks[rank].entry.error = text;
    ranks[rank].entry.by_peer = by_peer;
  }
  void fail(int rank, int64_t at, const std::string& text) {
    ranks[rank].status->state = RankState::failed;
    ranks[rank].status->failed_ns = at;
    ranks[rank].status->error_text = text;
  }
  void end_all(RankState state) {
    for (RankObservation& rank : ranks) {
      rank.process_state = 0;
      rank.status->state = state;
    }
  }
};

constexpr int exited(int code) { return code << 8; }

}  // namespace

class WatchdogTest : public QObject {
  Q_OBJECT

 private slots:
  void a_healthy_run_is_never_failed();
  void a_pause_shorter_than_the_limit_is_forgiven();
  void a_stopped_rank_is_named_whatever_the_others_do();
  void mpiruns_word_about_a_signal_outranks_complaining_peers();
  void exit_codes_above_128_are_signals();
  void of_several_failed_ranks_the_first_is_named();
  void a_vanished_rank_is_named_without_mpiruns_word();
  void an_end_before_all_have_finished_is_a_failure();
  void what_mpirun_does_after_every_rank_has_finished_is_a_notice_data();
  void what_mpirun_does_after_every_rank_has_finished_is_a_notice();
  void a_rank_that_does_not_exit_or_ends_badly_after_the_end_is_a_failure();
  void a_death_is_reported_as_the_kernel_tells_it_where_mpirun_says_nothing();
  void mpiruns_word_about_a_rank_that_it_has_waited_for_may_come_late();
  void an_mpirun_that_ended_its_ranks_is_to_blame();
  void a_rank_that_the_kernel_saw_killed_is_named_though_mpirun_only_fails_data();
  void a_rank_that_the_kernel_saw_killed_is_named_though_mpirun_only_fails();
  void ranks_that_mpirun_ended_are_never_blamed_data();
  void ranks_that_mpirun_ended_are_never_blamed();
  void a_rank_that_died_before_it_was_seen_is_named_where_mpirun_tells_but_a_signal();
  void an_mpirun_that_names_nobody_does_not_hide_a_death_of_which_peers_complain();
  void a_failure_is_reported_once();
  void a_debugger_is_reported_of_once_and_waited_for();
  void a_process_that_cannot_be_seen_is_not_dead();
  void a_stopped_mpirun_is_named();
  void a_ranks_own_error_outranks_what_follows_from_it();
  void complaints_of_peers_are_outranked_by_a_death();
  void lack_of_memory_is_reported_from_a_kill();
  void a_rank_that_mpirun_names_is_looked_at_again_first();
  void the_rank_that_others_wait_for_is_named_in_every_phase_data();
  void the_rank_that_others_wait_for_is_named_in_every_phase();
  void while_training_the_rank_furthest_behind_is_named();
  void of_ranks_that_save_the_one_whose_part_is_not_written_is_named();
  void waiting_for_others_is_never_too_long();
  void a_heartbeat_may_take_as_long_as_the_steps_do();
  void a_stuck_rank_of_a_small_plan_is_named_within_15_s_in_every_phase();
  void a_phase_has_as_long_as_the_plan_asks_for();
  void a_deadline_that_is_asked_for_counts();
  void exit_reports_are_read_from_mpiruns_output();
  void tags_are_taken_off_lines();
  void open_mpi_is_asked_for_tcp_and_for_what_heeds_that();
};

void WatchdogTest::a_healthy_run_is_never_failed() {
  std::mt19937 random(1);
  Scene scene;
  for (int64_t tick = 0; tick < 1000; ++tick) {
    for (RankObservation& rank : scene.ranks) rank.process_state = "RSD"[random() % 3];
    QVERIFY(!scene.look(tick * second));
  }
  scene.ranks[2].status->state = RankState::finished;
  scene.ranks[2].process_state = 0;
  QVERIFY(!scene.look(2000 * second));
  scene.end_all(RankState::finished);
  QVERIFY(!scene.look(2001 * second));
  QVERIFY(!scene.look(2002 * second, exited(0)));
}

void WatchdogTest::a_pause_shorter_than_the_limit_is_forgiven() {
  Scene scene;
  for (int64_t tenth = 0; tenth < 1000; ++tenth) {
    scene.ranks[1].process_state = tenth % 20 == 0 ? 'S' : 'T';
    QVERIFY(!scene.look(tenth * second / 10));
  }
}

void WatchdogTest::a_stopped_rank_is_named_whatever_the_others_do() {
  for (char letter : {'T', frozen_process}) {
    Scene scene;
    scene.ranks[3].process_state = letter;
    scene.fail(0, 1, "peer 3 does not answer");
    QVERIFY(!scene.look(0));
    auto failure = scene.look(2 * second + 1);
    QVERIFY(failure);
    QCOMPARE(failure->rank, 3);
    QCOMPARE(failure->signal, std::string());
    QCOMPARE(failure->last_op, std::string("adam"));
    QVERIFY(scene.watchdog.lost_a_rank());
  }
}

void WatchdogTest::mpiruns_word_about_a_signal_outranks_complaining_peers() {
  Scene scene;
  scene.ranks[2].process_state = 0;
  scene.fail(0, 100, "peer 2 is gone");
  scene.fail(1, 90, "peer 2 is gone");
  QVERIFY(!scene.look(0));
  scene.report = {2, 9, std::nullopt};
  auto failure = scene.look(second);
  QVERIFY(failure);
  QCOMPARE(failure->rank, 2);
  QCOMPARE(failure->signal, std::string("SIGKILL"));
  QVERIFY(failure->message.find("training step 5, at 'adam'") != std::string::npos);
}

void WatchdogTest::exit_codes_above_128_are_signals() {
  Scene scene;
  scene.ranks[1].process_state = 0;
  scene.report = {1, std::nullopt, 128 + 11};
  auto failure = scene.look(0);
  QVERIFY(failure);
  QCOMPARE(failure->rank, 1);
  QCOMPARE(failure->signal, std::string("SIGSEGV"));
}

void WatchdogTest::of_several_failed_ranks_the_first_is_named() {
  Scene scene;
  scene.fail(3, 50, "out of memory");
  scene.fail(1, 70, "aborted by a peer");
  scene.report = {1, std::nullopt, 1};
  auto failure = scene.look(0);
  QVERIFY(failure);
  QCOMPARE(failure->rank, 3);
  QCOMPARE(failure->message, std::string("rank 3 failed: out of memory"));
}

void WatchdogTest::a_vanished_rank_is_named_without_mpiruns_word() {
  Scene scene;
  scene.ranks[2].process_state = 'Z';
  QVERIFY(!scene.look(0));
  scene.ranks[0].process_state = 0;
  QVERIFY(!scene.look(second));
  auto failure = scene.look(4 * second);
  QVERIFY(failure);
  QCOMPARE(failure->rank, 2);
  QVERIFY(failure->message.starts_with("rank 2 died in training step 5"));
}

void WatchdogTest::an_end_before_all_have_finished_is_a_failure() {
  for (int wait_status : {exited(0), exited(1), exited(137), 9}) {
    Scene scene;
    for (RankObservation& rank : scene.ranks) rank = {};
    auto failure = scene.look(0, wait_status);
    QVERIFY(failure);
    QCOMPARE(failure->rank, -1);
  }
}

void WatchdogTest::what_mpirun_does_after_every_rank_has_finished_is_a_notice_data() {
  QTest::addColumn<int>("status");
  QTest::addColumn<QString>("what");
  QTest::newRow("it ends well") << exited(0) << "";
  QTest::newRow("it fails") << exited(1) << "ended with exit code 1";
  QTest::newRow("it is killed") << 9 << "was killed by SIGKILL";
  QTest::newRow("it hangs") << -1 << "did not exit within 8 s (--deadline ending=SECONDS) and is ended";
}

void WatchdogTest::what_mpirun_does_after_every_rank_has_finished_is_a_notice() {
  QFETCH(int, status);
  QFETCH(QString, what);
  for (char state : {'S', 'T'}) {
    Scene scene;
    scene.end_all(RankState::finished);
    scene.launcher = state;
    for (int64_t tick = 0; tick <= 8; ++tick) QVERIFY(!scene.look(tick * second));
    QVERIFY(scene.watchdog.take_notices().empty() && !scene.watchdog.abandons_launcher());
    QVERIFY(!scene.look(9 * second, status < 0 ? std::optional<int>() : status));
    const std::vector<std::string> notices = scene.watchdog.take_notices();
    const std::string word = what.isEmpty() ? "did not exit within 8 s" : what.toStdString();
    QCOMPARE(notices.size(), size_t{what.isEmpty() ? 0u : 1u});
    if (!notices.empty()) QVERIFY2(notices[0].find(word) != std::string::npos, notices[0].c_str());
    QCOMPARE(scene.watchdog.abandons_launcher(), !what.isEmpty());
    QVERIFY(!scene.look(10 * second, status < 0 ? std::optional<int>() : status));
    QVERIFY(scene.watchdog.take_notices().empty());
  }
}

void WatchdogTest::a_rank_that_does_not_exit_or_ends_badly_after_the_end_is_a_failure() {
  Scene alive;
  alive.end_all(RankState::finished);
  alive.ranks[2].process_state = 'S';
  QVERIFY(alive.wait(20).second.message.starts_with("rank 2 did not exit within 8 s of the end of training"));
  Scene crashed;
  crashed.end_all(RankState::finished);
  crashed.ranks[2].exit_status = SIGSEGV;
  crashed.report = {2, SIGSEGV, std::nullopt};
  QVERIFY(crashed.wait(20).second.message.starts_with("rank 2 was killed by SIGSEGV after the end of training"));
}

void WatchdogTest::a_death_is_reported_as_the_kernel_tells_it_where_mpirun_says_nothing() {
  for (const auto& [status, word] : std::vector<std::pair<int, std::string>>{
           {9, "was killed by SIGKILL"}, {exited(3), "exited with code 3"}, {0, "died"}}) {
    Scene scene;
    scene.ranks[2].process_state = 0;
    scene.ranks[2].exit_status = status;
    scene.ranks[1].process_state = 0;
    scene.ranks[1].exit_status = SIGTERM;  // by mpirun
    const auto [seconds, failure] = scene.wait(20);
    QCOMPARE(failure.message, "rank 2 " + word + " in training step 5, at 'adam'");
    QVERIFY(seconds < 4);
  }
}

void WatchdogTest::mpiruns_word_about_a_rank_that_it_has_waited_for_may_come_late() {
  Scene scene;
  scene.ranks[2].process_state = 0;
  for (int64_t tick = 0; tick < 14; ++tick) QVERIFY(!scene.look(tick * second));
  scene.report = {2, 9, std::nullopt};
  const auto failure = scene.look(14 * second);
  QVERIFY(failure);
  QVERIFY(failure->message.starts_with("rank 2 was killed by SIGKILL"));
}

void WatchdogTest::an_mpirun_that_ended_its_ranks_is_to_blame() {
  Scene scene;
  for (RankObservation& rank : scene.ranks) rank.process_state = 0;
  QVERIFY(!scene.look(0));
  auto failure = scene.look(second, exited(1));
  QVERIFY(failure);
  QCOMPARE(failure->rank, -1);
  QCOMPARE(failure->message, std::string("mpirun ended with exit code 1 before every rank had finished"));
}

void WatchdogTest::a_rank_that_the_kernel_saw_killed_is_named_though_mpirun_only_fails_data() {
  QTest::addColumn<bool>("others_are_gone");
  QTest::addColumn<int>("signal");
  QTest::newRow("alone") << false << SIGKILL;
  QTest::newRow("and mpirun ended the others") << true << SIGKILL;
  QTest::newRow("by a signal of its own") << true << SIGSEGV;
}

// Its report is lost: it ends with an ordinary exit code.
void WatchdogTest::a_rank_that_the_kernel_saw_killed_is_named_though_mpirun_only_fails() {
  QFETCH(bool, others_are_gone);
  QFETCH(int, signal);
  Scene scene;
  for (int i = 0; i < 4; ++i) {
    if (i != 2 && !others_are_gone) continue;
    scene.ranks[i].process_state = 0;
    scene.ranks[i].exit_status = i == 2 ? signal : SIGTERM;
  }
  const auto failure = scene.look(0, exited(1));
  QVERIFY(failure);
  QCOMPARE(failure->rank, 2);
  QCOMPARE(failure->signal, std::string(signal == SIGKILL ? "SIGKILL" : "SIGSEGV"));
  QCOMPARE(failure->message, "rank 2 was killed by " + failure->signal + " in training step 5, at 'adam'");
  QVERIFY(scene.watchdog.lost_a_rank());
}

void WatchdogTest::ranks_that_mpirun_ended_are_never_blamed_data() {
  QTest::addColumn<int>("signal");
  QTest::addColumn<int>("last_signal");
  QTest::newRow("all in order") << SIGTERM << SIGTERM;
  QTest::newRow("the last by force") << SIGTERM << SIGKILL;
  QTest::newRow("all by force") << SIGKILL << SIGKILL;
}

void WatchdogTest::ranks_that_mpirun_ended_are_never_blamed() {
  QFETCH(int, signal);
  QFETCH(int, last_signal);
  Scene scene;
  for (int i = 0; i < 3; ++i) {
    scene.ranks[i].process_state = 0;
    scene.ranks[i].exit_status = signal;
  }
  if (signal == last_signal) scene.ranks[3] = scene.ranks[2];
  QVERIFY(!scene.look(0));
  scene.ranks[3].process_state = 0;
  scene.ranks[3].exit_status = last_signal;
  const auto failure = scene.look(second, exited(1));
  QVERIFY(failure);
  QCOMPARE(failure->rank, -1);
  QCOMPARE(failure->message, std::string("mpirun ended with exit code 1 before every rank had finished"));
}

void WatchdogTest::a_rank_that_died_before_it_was_seen_is_named_where_mpirun_tells_but_a_signal() {
  Scene scene;
  scene.begin({RankPhase::connecting, RankPhase::connecting, RankPhase::launching, RankPhase::connecting});
  for (RankObservation& rank : scene.ranks) rank.process_state = 0;
  const auto failure = scene.look(0, exited(128 + SIGBUS));
  QVERIFY(failure);
  QCOMPARE(failure->message, std::string("rank 2 was killed by SIGBUS before it could start"));
}

void WatchdogTest::an_mpirun_that_names_nobody_does_not_hide_a_death_of_which_peers_complain() {
  Scene scene;
  scene.ranks[3].process_state = 0;
  scene.say(1, 5, "rank 1: rank 3 is gone", true);
  const auto failure = scene.look(0, exited(1));
  QVERIFY(failure);
  QCOMPARE(failure->message, std::string("rank 3 died in training step 5, at 'adam'"));
}

void WatchdogTest::a_failure_is_reported_once() {
  Scene scene;
  scene.report = {2, 9, std::nullopt};
  scene.ranks[*scene.report.rank].process_state = 0;
  QVERIFY(scene.look(0));
  for (int64_t tick = 1; tick < 100; ++tick) QVERIFY(!scene.look(tick * second, exited(137)));
}

void WatchdogTest::a_debugger_is_reported_of_once_and_waited_for() {
  Scene scene;
  scene.stuck = {true, true, true, true};
  scene.ranks[2].process_state = 't';
  QCOMPARE(scene.wait(500).first, -1.0);
  const std::vector<std::string> notices = scene.watchdog.take_notices();
  QCOMPARE(notices.size(), size_t{1});
  QVERIFY(notices[0].find("rank 2 (process 102) is held by a debugger") != std::string::npos);
  scene.ranks[2].process_state = 'S';
  QVERIFY(!scene.look(501 * second));
  QVERIFY(!scene.look(511 * second));
  QVERIFY(scene.look(514 * second));
}

void WatchdogTest::a_process_that_cannot_be_seen_is_not_dead() {
  Scene scene;
  for (RankObservation& rank : scene.ranks) rank.process_state = '?';
  scene.launcher = '?';
  QCOMPARE(scene.wait(500).first, -1.0);
}

void WatchdogTest::a_stopped_mpirun_is_named() {
  Scene scene;
  scene.launcher = 'T';
  const auto [seconds, failure] = scene.wait(500);
  QCOMPARE(failure.message, std::string("mpirun has been stopped by a signal (--deadline stopped=SECONDS)"));
  QCOMPARE(failure.rank, -1);
  QVERIFY(seconds < 3);
}

void WatchdogTest::a_ranks_own_error_outranks_what_follows_from_it() {
  Scene scene;
  scene.say(0, 50, "rank 3 has ended in the middle of the run", true);
  scene.say(3, 60, "DIR/rank_3.telemetry: cannot reserve space for: No space left on device", false);
  scene.ranks[3].process_state = 0;
  scene.ranks[1].process_state = 0;
  scene.report = {1, 9, std::nullopt};
  auto failure = scene.look(0);
  QVERIFY(failure);
  QCOMPARE(failure->message,
           std::string("rank 3 failed: DIR/rank_3.telemetry: cannot reserve space for: No space left on device"));
  QVERIFY(!scene.watchdog.lost_a_rank());
}

void WatchdogTest::complaints_of_peers_are_outranked_by_a_death() {
  Scene scene;
  scene.say(0, 50, "rank 2 has ended in the middle of the run", true);
  scene.ranks[2].process_state = 0;
  const auto [seconds, failure] = scene.wait(20);
  QCOMPARE(failure.message, std::string("rank 2 died in training step 5, at 'adam'"));
  QVERIFY(scene.watchdog.lost_a_rank());
}

void WatchdogTest::lack_of_memory_is_reported_from_a_kill() {
  for (bool kernel : {false, true}) {
    Scene scene;
    scene.ranks[2].process_state = 0;
    scene.report = {2, 9, std::nullopt};
    scene.ranks[2].out_of_memory = kernel;
    scene.ranks[1].out_of_memory = true;
    auto failure = scene.look(0);
    QVERIFY(failure);
    QCOMPARE(failure->signal, std::string("SIGKILL"));
    QCOMPARE(failure->message,
             std::string(kernel ? "rank 2 was killed by the kernel for lack of memory (SIGKILL) in training step 5, at "
                                  "'adam'; the plan wants 300 MiB a rank, 1.17 GiB for all, and 1000 MiB can be used"
                                : "rank 2 was killed by SIGKILL in training step 5, at 'adam'"));
  }
  Scene saving;
  Watchdog informed(7, {}, {}, {300 << 20, 1000 << 20, 200 << 20});
  saving.ranks[2].process_state = 0;
  saving.ranks[2].out_of_memory = true;
  saving.report = {2, 9, std::nullopt};
  const auto failure = informed.look({0, saving.ranks, &saving.report, {}});
  const std::string facts =
      "; the plan wants 300 MiB a rank and 200 MiB for checkpoints, 1.37 GiB for all, and 1000 MiB can be used";
  QVERIFY2(failure && failure->message.ends_with(facts), failure ? failure->message.c_str() : "nothing");
}

void WatchdogTest::a_rank_that_mpirun_names_is_looked_at_again_first() {
  Scene scene;
  scene.report = {2, 9, std::nullopt};
  QVERIFY(!scene.look(0));  // looked at before it died
  scene.ranks[2].process_state = 'Z';
  scene.ranks[2].out_of_memory = true;
  const auto failure = scene.look(second / 10);
  QVERIFY(failure && failure->message.find("for lack of memory") != std::string::npos);

  Scene unseen;  // what is never seen to end is named all the same
  unseen.report = {2, 9, std::nullopt};
  QVERIFY(unseen.wait(5).second.message.starts_with("rank 2 was killed by SIGKILL"));
}

void WatchdogTest::the_rank_that_others_wait_for_is_named_in_every_phase_data() {
  QTest::addColumn<int>("phase");
  QTest::addColumn<QString>("text");
  const std::pair<RankPhase, const char*> cases[] = {
      {RankPhase::launching, "rank 2 has not been started by mpirun for 11 s"},
      {RankPhase::starting, "rank 2 has been starting for 11 s"},
      {RankPhase::connecting, "rank 2 has been connecting to the other ranks (MPI_Init) for 11 s"},
      {RankPhase::planning, "rank 2 has been planning for 11 s"},
      {RankPhase::agreeing, "rank 2 has been comparing its plan with the other ranks' for 11 s"},
      {RankPhase::allocating, "rank 2 has been allocating its memory for 11 s"},
      {RankPhase::initialising, "rank 2 has been making its parameters for 11 s"},
      {RankPhase::saving, "rank 2 has been writing a checkpoint for 11 s"}};
  for (const auto& [phase, text] : cases) QTest::newRow(name(phase).data()) << static_cast<int>(phase) << text;
}

void WatchdogTest::the_rank_that_others_wait_for_is_named_in_every_phase() {
  QFETCH(int, phase);
  QFETCH(QString, text);
  const auto late = static_cast<RankPhase>(phase), next = static_cast<RankPhase>(phase + 1);
  Scene scene;
  scene.begin({next, next, late, next});
  const auto [seconds, failure] = scene.wait(200);
  const QString message = QString::fromStdString(failure.message);
  QCOMPARE(failure.rank, 2);
  QVERIFY2(message.startsWith(text), qPrintable(message));
  QVERIFY2(message.contains("ranks 0, 1 and 3 wait for it"), qPrintable(message));
  QVERIFY2(message.endsWith(QString("(--deadline %1=SECONDS)").arg(name(late).data())), qPrintable(message));
  QVERIFY(scene.watchdog.lost_a_rank());
}

void WatchdogTest::while_training_the_rank_furthest_behind_is_named() {
  Scene scene;
  scene.stuck = {true, true, true, true};
  scene.ranks[1].status->plan_step = 0;
  scene.ranks[3].status->training_step = 6;
  scene.ranks[1].process_state = 'D';
  const auto [seconds, failure] = scene.wait(200);
  QCOMPARE(failure.message,
           std::string("rank 1 has made no progress for 11 s in training step 5, at 'embed'; its process waits in the "
                       "kernel and cannot be interrupted (state D); ranks 0, 2 and 3 wait for it (--deadline "
                       "training=SECONDS)"));
  Scene same_place;
  same_place.stuck = {true, true, true, true};
  same_place.ranks[2].process_state = 'R';
  QCOMPARE(same_place.wait(200).second.rank, 2);
}

// By its heartbeat alone: another thread of it writes than the one whose state is seen.
void WatchdogTest::of_ranks_that_save_the_one_whose_part_is_not_written_is_named() {
  Scene scene;
  for (RankObservation& rank : scene.ranks) {
    rank.entry.phase = RankPhase::saving;
    rank.process_state = 'R';
  }
  scene.ranks[2].process_state = 'S';
  scene.stuck[2] = true;
  const auto [seconds, failure] = scene.wait(200);
  QCOMPARE(failure.message, std::string("rank 2 has been writing a checkpoint for 11 s; its process sleeps (state S); "
                                        "ranks 0, 1 and 3 wait for it (--deadline saving=SECONDS)"));
}

void WatchdogTest::waiting_for_others_is_never_too_long() {
  Scene scene;
  scene.stuck = {true, true, false, true};
  scene.ranks[2].status->training_step = 4;
  QCOMPARE(scene.wait(500).first, -1.0);
}

void WatchdogTest::a_heartbeat_may_take_as_long_as_the_steps_do() {
  WatchdogLimits limits;
  limits.longest_step_ns = 10 * second;
  Scene predicted;
  predicted.stuck = {true, true, true, true};
  Watchdog patient(7, {}, limits);
  QVERIFY(!patient.look({0, predicted.ranks, &predicted.report, {}}));
  QVERIFY(!patient.look({199 * second, predicted.ranks, &predicted.report, {}}));
  QVERIFY(patient.look({201 * second, predicted.ranks, &predicted.report, {}}));

  Scene measured;
  QVERIFY(!measured.look(0));
  QVERIFY(!measured.look(15 * second));
  measured.stuck = {true, true, true, true};
  QVERIFY(!measured.look(16 * second));
  QVERIFY(!measured.look(89 * second));
  QVERIFY(measured.look(91 * second));
}

// Eight ranks on two cores.
Plan small_plan() {
  Plan plan;
  plan.mesh = Mesh({{"data", 4}, {"model", 2}});
  plan.machine.device.cores = 2;
  plan.totals.memory_total = 1 << 20;
  plan.planning_milliseconds = 5;
  return plan;
}

void WatchdogTest::a_stuck_rank_of_a_small_plan_is_named_within_15_s_in_every_phase() {
  WatchdogLimits limits = deadlines_of(small_plan(), false);
  limits.phase_ns[static_cast<size_t>(RankPhase::saving)] -= 48 * second;  // of the slowest file systems
  for (int64_t limit : limits.phase_ns) QVERIFY(limit >= 11 * second && limit < 15 * second);
  QVERIFY(limits.agent_ns <= 15 * second && limits.host_ns <= 15 * second && limits.shutdown_ns <= 15 * second);
}

void WatchdogTest::a_phase_has_as_long_as_the_plan_asks_for() {
  const auto limit = [](const Plan& plan, RankPhase phase, bool reads_files = false) {
    return deadlines_of(plan, reads_files).phase_ns[static_cast<size_t>(phase)] / second;
  };
  Plan plan = small_plan();
  QCOMPARE(limit(plan, RankPhase::initialising, true) - limit(plan, RankPhase::initialising), 48);
  const int64_t compared = deadlines_of(plan, true, 2'000'000'000).phase_ns[size_t(RankPhase::initialising)] / second;
  QCOMPARE(compared - limit(plan, RankPhase::initialising, true), 100);
  plan.totals.memory_total = int64_t{1} << 30;
  QVERIFY(limit(plan, RankPhase::allocating) > 100);
  QVERIFY(limit(plan, RankPhase::initialising) > limit(plan, RankPhase::allocating));
  QVERIFY(limit(plan, RankPhase::finishing) > limit(plan, RankPhase::initialising));
  QCOMPARE(limit(plan, RankPhase::saving) - limit(plan, RankPhase::finishing), 48);
  plan.planning_milliseconds = 1000;
  QCOMPARE(limit(plan, RankPhase::planning), 11 + 4 * 10);
  plan.mesh = Mesh({{"data", 512}});
  plan.machine.device.cores = 64;
  QCOMPARE(limit(plan, RankPhase::connecting), 11 + 128);
}

void WatchdogTest::a_deadline_that_is_asked_for_counts() {
  WatchdogLimits limits;
  for (const std::string& name : deadline_names()) set_deadline(limits, name + "=2.5");
  for (int64_t limit : limits.phase_ns) QCOMPARE(limit, 5 * second / 2);
  QCOMPARE(limits.stopped_ns, 5 * second / 2);
  for (const char* wrong : {"", "training", "training=", "training=0", "training=-1", "training=1e99", "training=nan",
                            "training=2s", "trainign=2"}) {
    QVERIFY_THROWS_EXCEPTION(Failure, set_deadline(limits, wrong));
  }
}

void WatchdogTest::exit_reports_are_read_from_mpiruns_output() {
  ExitReport report;
  read_exit_report("mpirun noticed that process rank 12 with PID 0 on node host-7 exited on signal 9 (Killed).",
                   report);
  QCOMPARE(report.rank.value_or(-1), 12);
  QCOMPARE(report.signal.value_or(-1), 9);
  read_exit_report("mpirun noticed that process rank 3 with PID 0 on node host-7 exited on signal 15 (Terminated).",
                   report);
  QCOMPARE(report.rank.value_or(-1), 12);

  ExitReport code;
  for (const char* line : {"-----", "the job to be terminated. The first process to do so was:", "",
                           "  Process name: [[18662,1],1]", "  Exit code:    3"}) {
    QVERIFY(!code.names_culprit());
    read_exit_report(line, code);
  }
  QCOMPARE(code.rank.value_or(-1), 1);
  QCOMPARE(code.exit_code.value_or(-1), 3);
}

void WatchdogTest::tags_are_taken_off_lines() {
  QCOMPARE(parse_tagged_line("[1,13]<stdout>:hello").rank, 13);
  QCOMPARE(parse_tagged_line("[1,13]<stderr>:hello").text, std::string("hello"));
  QCOMPARE(parse_tagged_line("[1,0]<stdout>:a[1,0]<stdout>: b").text, std::string("a b"));
  for (const char* line : {"", "plain", "[1,x]<stdout>:", "[1,2]<stdout", "see [1,2]<stdout>:"}) {
    QCOMPARE(parse_tagged_line(line).rank, -1);
    QCOMPARE(parse_tagged_line(line).text, std::string(line));
  }
}

void WatchdogTest::open_mpi_is_asked_for_tcp_and_for_what_heeds_that() {
  const MpirunHosts hosts{"run-host-0:2", "10.99.0.0/24", "shell"};
  for (const std::vector<std::string>& command :
       {mpirun_command("program", "session", 2), mpirun_command("program", hosts, 2)}) {
    const auto value_of = [&](const char* option) {
      const auto at = std::ranges::find(command, option);
      return at == command.end() || at + 1 == command.end() ? std::string() : at[1];
    };
    QCOMPARE(value_of("pml"), std::string("ob1"));
    QCOMPARE(value_of("btl"), std::string("self,tcp"));
  }
}

REGISTER_TEST(WatchdogTest)

}  // namespace watchdog_test

#include "watchdog_test.moc"
