#include "engine/session/host_observer.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>
#include <csignal>

#include "tests/test_program.h"

namespace host_observer_test {

using namespace shardscope;

namespace {

// A process that makes its telemetry and then sleeps.
pid_t start_rank(const std::string& directory, int rank) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  TelemetryWriter writer(directory, rank, 2);
  writer.set_plan(1, 1);
  for (int64_t step = 0; step < 700; ++step) {
    writer.begin_training_step(step);
    writer.end_plan_step(0, {step, step, step});
    StepRecord record{step, 1, {}, {}};
    record.measured.rank = rank;
    writer.add_step(record);
  }
  writer.keep_trace(TraceChoice::latest);
  writer.set_state(RankState::running);
  for (;;) ::pause();
}

}  // namespace

class HostObserverTest : public QObject {
  Q_OBJECT

 private slots:
  void a_report_is_bounded_and_says_that_there_is_more() {
    QTemporaryDir directory;
    const std::string path = directory.path().toStdString();
    const pid_t child = start_rank(path, 1);
    HostObserver observer(path, {0, 1});
    std::vector<StepRecord> steps;
    std::vector<std::pair<TraceChoice, RankTrace>> traces;
    bool is_running = false, absent = true, more_than_all = false, unreported_more = false;
    QVERIFY(QTest::qWaitFor(
        [&] {
          const HostReport report = observer.look();
          const RankReport& rank = report.ranks[1];
          absent &= !report.ranks[0].observation.status && report.ranks[0].observation.process.pid == 0;
          more_than_all |= rank.steps.size() > HostObserver::steps_a_look;
          unreported_more |= rank.steps.size() == HostObserver::steps_a_look && !report.more;
          steps.insert(steps.end(), rank.steps.begin(), rank.steps.end());
          traces.insert(traces.end(), rank.traces.begin(), rank.traces.end());
          is_running = rank.observation.status && rank.observation.status->state == RankState::running;
          return is_running && steps.size() == 700 && !traces.empty();
        },
        60000));
    QVERIFY(absent && !more_than_all && !unreported_more);
    QCOMPARE(traces.size(), size_t{1});
    QCOMPARE(traces[0].second.step, int64_t{699});
    for (size_t i = 0; i < steps.size(); ++i) QCOMPARE(steps[i].step, static_cast<int64_t>(i));
    QCOMPARE(observer.processes().size(), size_t{1});
    QCOMPARE(observer.processes()[0].pid, child);

    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const RankReport gone = observer.look().ranks[1];
    QCOMPARE(gone.observation.process_state, char{0});
    QCOMPARE(gone.observation.process.pid, child);
    QVERIFY(gone.steps.empty() && gone.traces.empty());
  }

  void a_process_that_cannot_be_looked_at_is_unknown_and_not_gone() {
    QTemporaryDir directory;
    const std::string path = directory.path().toStdString();
    const pid_t child = start_rank(path, 0);
    HostObserver observer(path, {0});
    QVERIFY(QTest::qWaitFor([&] { return observer.look().ranks[0].observation.process_state != 0; }, 60000));
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit none{0, limit.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    const char state = observer.look().ranks[0].observation.process_state;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    QCOMPARE(state, '?');
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
};

REGISTER_CORE_TEST(HostObserverTest)

}  // namespace host_observer_test

#include "host_observer_test.moc"
