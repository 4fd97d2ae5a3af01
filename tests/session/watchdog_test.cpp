#include "engine/session/watchdog.h"

#include <QtTest>
#include <random>

using namespace shardscope;

namespace {

constexpr int64_t second = 1'000'000'000;

// A run of four ranks whose facts a test sets one by one.
struct Scene {
  std::vector<RankObservation> ranks;
  ExitReport report;
  Watchdog watchdog{7, {{"embed", Phase::forward}, {"adam", Phase::update}}};

  Scene() {
    for (int i = 0; i < 4; ++i) {
      RankStatus status;
      status.rank = i;
      status.state = RankState::running;
      status.plan_hash = 7;
      status.training_step = 5;
      status.plan_step = 1;
      ranks.push_back({status, 'S'});
    }
  }
  std::optional<FailureMessage> look(int64_t now, std::optional<int> wait_status = {}) {
    return watchdog.look({now, ranks, &report, wait_status});
  }
  void fail(int rank, int64_t at, const std::string& text) {
    ranks[rank].status->state = RankState::failed;
    ranks[rank].status->failed_ns = at;
    ranks[rank].status->error_text = text;
  }
  void end_all(RankState state) {
    for (RankObservation& rank : ranks) {
      rank.process = 0;
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
  void a_failed_rank_is_named_once();
  void a_vanished_rank_is_named_without_mpiruns_word();
  void an_end_before_all_have_finished_is_a_failure();
  void a_failure_is_told_once();
  void exit_reports_are_read_from_mpiruns_output();
  void tags_are_taken_off_lines();
};

void WatchdogTest::a_healthy_run_is_never_failed() {
  std::mt19937 random(1);
  Scene scene;
  for (int64_t tick = 0; tick < 1000; ++tick) {
    for (RankObservation& rank : scene.ranks) rank.process = "RSD"[random() % 3];
    QVERIFY(!scene.look(tick * second));
  }
  scene.ranks[2].status->state = RankState::finished;
  scene.ranks[2].process = 0;
  QVERIFY(!scene.look(2000 * second));
  scene.end_all(RankState::finished);
  QVERIFY(!scene.look(2001 * second));
  QVERIFY(!scene.look(2002 * second, exited(0)));
}

void WatchdogTest::a_pause_shorter_than_the_limit_is_forgiven() {
  Scene scene;
  for (int64_t tenth = 0; tenth < 1000; ++tenth) {
    scene.ranks[1].process = tenth % 20 == 0 ? 'S' : 'T';
    QVERIFY(!scene.look(tenth * second / 10));
  }
}

void WatchdogTest::a_stopped_rank_is_named_whatever_the_others_do() {
  for (char letter : {'T', 't'}) {
    Scene scene;
    scene.ranks[3].process = letter;
    scene.fail(0, 1, "peer 3 does not answer");
    QVERIFY(!scene.look(0));
    auto failure = scene.look(2 * second + 1);
    QVERIFY(failure);
    QCOMPARE(failure->rank, 3);
    QCOMPARE(failure->signal, std::string("SIGSTOP"));
    QCOMPARE(failure->last_op, std::string("adam"));
  }
}

void WatchdogTest::mpiruns_word_about_a_signal_outranks_complaining_peers() {
  Scene scene;
  scene.ranks[2].process = 0;
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
  scene.ranks[1].process = 0;
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

void WatchdogTest::a_failed_rank_is_named_once() {
  for (const auto& [said, told] : {std::pair<std::string, std::string>{"rank 3: no memory", "no memory"},
                                   {"rank 3, all_gather part 1: no memory", "all_gather part 1: no memory"},
                                   {"rank 30: no memory", "rank 30: no memory"}}) {
    Scene scene;
    scene.fail(3, 50, said);
    scene.report = {3, std::nullopt, 1};
    auto failure = scene.look(0);
    QVERIFY(failure);
    QCOMPARE(failure->message, "rank 3 failed: " + told);
  }
}

void WatchdogTest::a_vanished_rank_is_named_without_mpiruns_word() {
  Scene scene;
  scene.ranks[2].process = 'Z';
  QVERIFY(!scene.look(0));
  scene.ranks[0].process = 0;
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
  Scene scene;
  scene.end_all(RankState::finished);
  QVERIFY(scene.look(0, exited(1)));
}

void WatchdogTest::a_failure_is_told_once() {
  Scene scene;
  scene.report = {2, 9, std::nullopt};
  QVERIFY(scene.look(0));
  for (int64_t tick = 1; tick < 100; ++tick) QVERIFY(!scene.look(tick * second, exited(137)));
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

QTEST_APPLESS_MAIN(WatchdogTest)
#include "watchdog_test.moc"
