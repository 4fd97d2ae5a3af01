#include "engine/session/run_history.h"

#include <sys/resource.h>

#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <csignal>

#include "engine/base/error.h"
#include "engine/base/json_memory.h"
#include "engine/session/line_cost.h"
#include "tests/test_program.h"

namespace run_history_test {

using namespace shardscope;

namespace {

constexpr int ranks = 4;

StepMessage step_of(int64_t number, int of_ranks = ranks) {
  StepMessage step{number, {{"loss", 8.0 / (1 + number)}, {"accuracy", 0.5}}, 10.0 + number % 7, {}};
  for (int rank = 0; rank < of_ranks; ++rank) {
    RankMeasurement measured;
    measured.rank = rank;
    measured.arena_bytes = number * of_ranks + rank;
    measured.busy_ms = {number + 0.5, 2, 3};
    step.ranks.push_back(measured);
  }
  return step;
}

HelloMessage hello() { return {"{}", 1, ranks, {}, {"loss", "accuracy"}}; }

SnapshotMessage snapshot_of(const RunHistory& history) {
  const std::string lines = history.greeting();
  const size_t first = lines.find('\n') + 1;
  return std::get<SnapshotMessage>(parse_message(lines.substr(first, lines.find('\n', first) - first)));
}

}  // namespace

class RunHistoryTest : public QObject {
  Q_OBJECT

 private slots:
  void what_is_begun_anew_is_reported_once_and_in_order() {
    QTemporaryDir directory;
    for (const int64_t again : {0, 3, 120, 555, 999}) {
      RunHistory history(directory.path().toStdString(), hello());
      for (int64_t i = 0; i < 1000; ++i) history.add(step_of(i));
      for (int64_t i = again; i < again + 100; ++i) history.add(step_of(i));
      const SnapshotMessage reported = snapshot_of(history);
      std::vector<int64_t> numbers;
      for (const auto* list : {&reported.past, &reported.steps}) {
        for (const StepMessage& step : *list) numbers.push_back(step.step);
      }
      QVERIFY(std::ranges::is_sorted(numbers, std::less_equal{}) && numbers.back() == again + 99);
    }
  }

  void every_step_can_be_asked_for_and_is_what_was_reported() {
    QTemporaryDir directory;
    RunHistory history(directory.path().toStdString(), hello());
    const int64_t steps = StepFile::detailed_steps + 3000;
    for (int64_t i = 0; i < steps; ++i) QVERIFY(!history.add(step_of(i)));
    int64_t next = 0;
    while (next < steps) {
      const StepsMessage answer = history.steps(next, steps);
      QVERIFY(!answer.steps.empty() && answer.steps.size() <= RunHistory::steps_an_answer);
      for (const StepMessage& step : answer.steps) {
        StepMessage expected = step_of(next++);
        if (step.step < steps - StepFile::detailed_steps) expected.ranks.clear();
        QVERIFY(step == expected);
      }
    }
    for (const auto& [from, to] : std::vector<std::pair<int64_t, int64_t>>{
             {-5, 0}, {steps, steps + 9}, {7, 7}, {9, 3}, {INT64_MIN, INT64_MIN}, {INT64_MAX, INT64_MAX}}) {
      QVERIFY(history.steps(from, to).steps.empty());
    }
    QCOMPARE(history.steps(INT64_MIN, INT64_MAX).steps.front().step, int64_t{0});
    QVERIFY(QDir(directory.path()).isEmpty());  // the file has no name: nothing is left of a run that was killed
  }

  void a_greeting_does_not_grow_with_the_run_and_holds_its_peaks() {
    QTemporaryDir directory;
    RunHistory history(directory.path().toStdString(), hello());
    size_t bytes = 0;
    for (int64_t i = 0; i < 30000; ++i) {
      StepMessage step = step_of(i);
      if (i == 777) step.metrics[0].value = 1e6;
      if (i == 778) step.metrics[0].value = std::nan("");
      if (i == 779) step.step_ms = 5000;
      history.add(step);
      if (i == 3000) bytes = history.greeting().size();
    }
    QVERIFY(history.greeting().size() < 2 * bytes);
    const SnapshotMessage snapshot = snapshot_of(history);
    QCOMPARE(snapshot.steps.size(), RunHistory::recent_steps);
    QVERIFY(snapshot.steps.back() == step_of(29999));
    QVERIFY(std::abs(*snapshot.step_times.median() - 13) < 0.13);
    std::vector<int64_t> past;
    for (const StepMessage& step : snapshot.past) past.push_back(step.step);
    QVERIFY(std::ranges::is_sorted(past) && past.back() < snapshot.steps.front().step);
    for (int64_t peak : {777, 778, 779}) QVERIFY(std::ranges::find(past, peak) != past.end());
    QVERIFY(past.front() < 64);
  }

  void a_run_that_begins_anew_replaces_the_steps_that_it_does_again() {
    QTemporaryDir directory;
    RunHistory history(directory.path().toStdString(), hello());
    for (int64_t i = 0; i < 50; ++i) history.add(step_of(i));
    for (int64_t i = 20; i < 30; ++i) {
      StepMessage step = step_of(i);
      step.step_ms = 99;
      history.add(step);
    }
    const StepsMessage answer = history.steps(0, 100);
    QCOMPARE(answer.steps.size(), size_t{30});
    QCOMPARE(answer.steps[19].step_ms, step_of(19).step_ms);
    QCOMPARE(answer.steps[20].step_ms, 99.0);
    QVERIFY(snapshot_of(history).steps == answer.steps);
  }

  void what_ranks_print_is_kept_within_bounds() {
    QTemporaryDir directory;
    RunHistory history(directory.path().toStdString(), hello());
    for (int i = 0; i < 300; ++i) history.add(LogMessage{i, std::string(100000, 'x')});
    for (int i = 0; i < 5000; ++i) history.add(LogMessage{i, "short"});
    QVERIFY(history.greeting().size() < 2 * RunHistory::log_bytes);
    QCOMPARE(snapshot_of(history).log.size(), RunHistory::log_lines);
    QCOMPARE(snapshot_of(history).log.back().rank, 4999);
  }

  // Whoever comes late attaches, however large the run is.
  void a_greeting_at_the_limit_is_accepted() {
    QTemporaryDir directory;
    constexpr int many = 6000, plan_steps = 150;
    RunHistory history(directory.path().toStdString(), {"{}", 1, many, {}, {"loss", "accuracy"}});
    for (int64_t i = 0; i < 12; ++i) history.add(step_of(i, many));
    const auto trace_of = [&](TraceChoice choice, int64_t each) {
      const std::vector<PlanStepTime> times(static_cast<size_t>(each), {999'999'997, 999'999'998, 999'999'999});
      return TraceMessage{choice, 11, std::vector<std::vector<PlanStepTime>>(many, times)};
    };
    QVERIFY(is_sendable(trace_of(TraceChoice::latest, plan_steps)));
    QVERIFY(!is_sendable(trace_of(TraceChoice::latest, 5 * plan_steps)));
    for (TraceChoice choice : trace_choices) {
      history.add(trace_of(choice, plan_steps));
    }
    const std::string greeting = history.greeting();
    MessageDecoder decoder;
    decoder.feed(greeting);
    QVERIFY(std::holds_alternative<HelloMessage>(*decoder.next()));
    const SnapshotMessage reported = std::get<SnapshotMessage>(*decoder.next());
    QVERIFY(greeting.size() < message_limits::line_bytes / 2);
    QVERIFY(json_memory(greeting) < message_limits::parsed_bytes / 2);
    QCOMPARE(reported.traces.size(), size_t{1});
    QCOMPARE(reported.steps.size(), size_t{12});
    QVERIFY(reported.steps.front().ranks.empty());
    QCOMPARE(reported.steps.back().ranks.size(), size_t{many});

    const std::string answer = to_json_line(history.steps(0, 12));
    QVERIFY(json_memory(answer) < message_limits::parsed_bytes / 2 + (size_t{32} << 20));
    const StepsMessage some = std::get<StepsMessage>(parse_message(answer));
    QVERIFY(!some.steps.empty());
    QCOMPARE(some.steps.front().ranks.size(), size_t{many});
  }

  void a_full_disk_is_reported_once_and_the_run_goes_on() {
    QTemporaryDir directory;
    RunHistory history(directory.path().toStdString(), hello());
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit small{4096, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    std::vector<LogMessage> reported;
    for (int64_t i = 0; i < 1000; ++i) {
      if (auto log = history.add(step_of(i))) reported.push_back(*log);
    }
    ::setrlimit(RLIMIT_FSIZE, &limit);
    QCOMPARE(reported.size(), size_t{1});
    QVERIFY(reported[0].text.find("cannot write the run's history") != std::string::npos);
    QVERIFY(history.steps(0, 10).steps.empty());
    QCOMPARE(snapshot_of(history).steps.size(), RunHistory::recent_steps);
  }
};

REGISTER_TEST(RunHistoryTest)

}  // namespace run_history_test

#include "run_history_test.moc"
