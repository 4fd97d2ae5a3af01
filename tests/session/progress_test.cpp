#include "engine/session/progress.h"

#include <QTemporaryDir>
#include <QtTest>

#include "engine/base/error.h"
#include "engine/session/host_observer.h"
#include "tests/test_program.h"

namespace progress_test {

using namespace shardscope;

namespace {

template <class Kind>
std::vector<Kind> all(const std::vector<Message>& messages) {
  std::vector<Kind> found;
  for (const Message& message : messages) {
    if (auto* one = std::get_if<Kind>(&message)) found.push_back(*one);
  }
  return found;
}

StepRecord record_of(int rank, int64_t step, double step_ms = 10) {
  StepRecord record{step, step_ms, {}, {}};
  record.measured.rank = rank;
  return record;
}

RankReport of_rank(int rank, std::vector<StepRecord> steps) {
  RankReport report;
  report.rank = rank;
  report.steps = std::move(steps);
  return report;
}

RankReport traced(int rank, TraceChoice choice, int64_t step, int64_t begin_ns, int64_t length_ns = 100) {
  RankReport report;
  report.rank = rank;
  report.traces = {{choice, {step, {{begin_ns, begin_ns + 1, begin_ns + length_ns}}}}};
  return report;
}

}  // namespace

class ProgressTest : public QObject {
  Q_OBJECT

 private slots:
  // From the ranks' files to the client's line and back.
  void measurements_and_metrics_arrive_whole_and_under_their_names_however_many_there_are() {
    for (size_t count : {size_t{0}, size_t{1}, size_t{2}, max_metrics}) {
      QTemporaryDir directory;
      const std::string path = directory.path().toStdString();
      std::vector<std::string> names;
      StepRecord record{7, 1.5, {0, 1, 2, 3, 4, 5, 6, 7, {7, 8, 9}, {1, 2, 3}, {4, 5, 6}}, {}};
      std::vector<MetricValue> expected;
      for (size_t i = 0; i < count; ++i) {
        names.push_back("metric " + std::to_string(count - i));
        record.metrics[i] = 100.0 / static_cast<double>(i + 3);
        expected.push_back({names.back(), record.metrics[i]});
      }
      TelemetryWriter first(path, 0, 2), second(path, 1, 2);
      HostObserver observer(path, {0, 1});
      Progress progress({0, 0}, names);
      first.add_step(record);
      QVERIFY(all<StepMessage>(progress.take(observer.look())).empty());
      StepRecord other = record;
      other.measured.rank = 1;
      second.add_step(other);
      const auto steps = all<StepMessage>(progress.take(decode_host_report(encode(observer.look()))));
      QCOMPARE(steps.size(), size_t{1});
      QVERIFY(steps[0].metrics == expected);
      QVERIFY((steps[0].ranks == std::vector<RankMeasurement>{record.measured, other.measured}));
      QVERIFY(std::get<StepMessage>(parse_message(to_json_line(steps[0]))) == steps[0]);
    }
  }

  void a_step_is_reported_once_all_ranks_have_done_it_from_whatever_hosts() {
    Progress progress({0, 0, 0, 0}, {});
    QVERIFY(all<StepMessage>(
                progress.take(
                    {1, false, {of_rank(0, {record_of(0, 0), record_of(0, 1)}), of_rank(1, {record_of(1, 0, 30)})}}))
                .empty());
    QCOMPARE(progress.completed_steps(), int64_t{0});
    const auto steps = all<StepMessage>(progress.take(
        {2, false, {of_rank(2, {record_of(2, 0), record_of(2, 1)}), of_rank(3, {record_of(3, 0), record_of(3, 1)})}}));
    QCOMPARE(steps.size(), size_t{1});
    QCOMPARE(steps[0].step_ms, 30.0);
    QCOMPARE(steps[0].ranks.size(), size_t{4});
    QCOMPARE(all<StepMessage>(progress.take({3, false, {of_rank(1, {record_of(1, 1)})}})).size(), size_t{1});
    QCOMPARE(progress.completed_steps(), int64_t{2});
  }

  void a_report_that_ranks_of_this_run_cannot_have_made_is_refused() {
    const std::vector<std::pair<const char*, RankReport>> wrong = {
        {"no such rank", of_rank(2, {})},
        {"a step left out", of_rank(0, {record_of(0, 0), record_of(0, 2)})},
        {"a step twice", of_rank(0, {record_of(0, 1), record_of(0, 1)})},
        {"of another rank", of_rank(0, {record_of(1, 0)})},
        {"of another plan", traced(0, TraceChoice::latest, 0, 0)}};
    for (const auto& [what, report] : wrong) {
      Progress progress({3, 3}, {});
      try {
        progress.take({0, false, {report}});
        QFAIL(what);
      } catch (const Failure& failure) {
        QCOMPARE(failure.errors()[0].code, std::string("bad_report"));
      }
    }
    Progress progress({0, 0}, {});
    progress.take({0, false, {of_rank(0, {record_of(0, 4)})}});
    QVERIFY_THROWS_EXCEPTION(Failure, progress.take({0, false, {of_rank(1, {record_of(1, 5)})}}));
  }

  void the_load_of_experts_is_reported_by_layer() {
    Progress progress({1, 1}, {}, {{"layers/0", 3, {}, {}}, {"layers/1", 2, {}, {}}});
    RankReport report = of_rank(0, {});
    report.load = RankExpertLoad{4, {5, 0, 1, 0, 3, 3, 2}};
    const auto reported = all<ExpertsMessage>(progress.take({0, false, {report}}));
    QCOMPARE(reported.size(), size_t{1});
    QVERIFY((reported[0] == ExpertsMessage{4, {{"layers/0", {5, 0, 1}, 0}, {"layers/1", {3, 3}, 2}}}));
    QVERIFY(all<ExpertsMessage>(progress.take({1, false, {of_rank(0, {})}})).empty());
    report.load->numbers.pop_back();
    QVERIFY_THROWS_EXCEPTION(Failure, progress.take({2, false, {report}}));
  }

  void a_trace_is_reported_when_all_ranks_have_reported_theirs_of_one_step() {
    Progress progress({1, 1, 1}, {});
    const auto take = [&](std::vector<RankReport> ranks) {
      return all<TraceMessage>(progress.take({0, false, std::move(ranks)}));
    };
    using enum TraceChoice;
    QVERIFY(take({traced(0, slowest, 4, 1000), traced(1, slowest, 5, 1400)}).empty());
    QVERIFY(take({traced(2, slowest, 5, 77'000)}).empty());
    const auto reported = take({traced(0, slowest, 5, 1500)});
    QCOMPARE(reported.size(), size_t{1});
    QCOMPARE(reported[0].step, int64_t{5});
    // Ranks 0 and 1 are of one host, rank 2 of another, whose clock has another zero.
    QCOMPARE(reported[0].ranks[0][0].arrive_ns, int64_t{100});
    QCOMPARE(reported[0].ranks[1][0].arrive_ns, int64_t{0});
    QCOMPARE(reported[0].ranks[2][0].arrive_ns, int64_t{0});
    QCOMPARE(reported[0].ranks[2][0].end_ns, int64_t{100});
    QVERIFY(take({}).empty());
  }
};

REGISTER_TEST(ProgressTest)

}  // namespace progress_test

#include "progress_test.moc"
