#include "engine/simulate/stage_clock.h"

#include <QTest>
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/test_program.h"

namespace stage_clock_test {

using namespace shardscope;

namespace {

Streams joined(double of_compute, double of_transfer) {
  Streams streams;
  streams.joined.assign(2, std::vector<std::optional<Streams::Slowdown>>(2));
  streams.joined[0][1] = Streams::Slowdown{of_compute, of_transfer};
  streams.joined[1][0] = Streams::Slowdown{of_transfer, of_compute};
  return streams;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(b)); }

}  // namespace

class StageClockTest : public QObject {
  Q_OBJECT

 private slots:
  void the_examples_of_the_headers_hold() {
    const Streams slowed = joined(1.5, 1.5);
    StageClock clock(slowed);
    clock.start(0, 1, 4);
    QVERIFY(near(clock.compute(3).end, 4.5));
    const TimeSpan waited = clock.finish(0, 1);
    QVERIFY(near(waited.start, 4.5) && near(waited.end, 5.5));
    QVERIFY(near(clock.exposed(), 1) && near(clock.hidden(), 4.5));

    const Streams apart, together = joined(1, 1);
    StageClock one(apart), both(together);
    for (StageClock* each : {&one, &both}) {
      each->start(0, 1, 4);
      each->compute(3);
      each->finish(0, 1);
    }
    QVERIFY(near(one.time(), 7) && near(one.exposed(), 4) && near(one.hidden(), 0));
    QVERIFY(near(both.time(), 4) && near(both.exposed(), 1) && near(both.hidden(), 3));
    QVERIFY(near(one.transfers()[0].span.start, 3) && near(both.transfers()[0].span.start, 0));
  }

  void transfers_of_a_stream_run_one_at_a_time_in_the_order_of_their_starts() {
    const Streams streams = joined(1, 1);
    StageClock clock(streams);
    for (int i = 0; i < 3; ++i) clock.start(i, 1, 2);
    clock.compute(3);
    QVERIFY(!clock.is_open(0, 1) && clock.is_open(1, 1));
    clock.finish(2, 1);
    QVERIFY(near(clock.time(), 6));
    for (int i = 0; i < 3; ++i) {
      QCOMPARE(clock.transfers()[static_cast<size_t>(i)].position, i);
      QVERIFY(near(clock.transfers()[static_cast<size_t>(i)].span.start, 2 * i));
    }
  }

  void what_is_waited_for_goes_before_other_streams_that_exclude_it() {
    Streams streams;
    streams.names = {"compute", "near", "far"};
    StageClock clock(streams);
    clock.start(0, 1, 5);
    clock.start(1, 2, 2);
    QVERIFY(near(clock.finish(1, 2).end, 2));
    QVERIFY(near(clock.finish(0, 1).end, 7));
  }

  // Work is neither lost nor done twice, whatever runs beside what.
  void time_is_at_least_that_of_each_stream_and_at_most_the_sum_of_all_slowed_down() {
    std::mt19937 random(1);
    const auto part = [&] { return static_cast<double>(random() % 1000) * 1e-3; };
    for (int round = 0; round < 500; ++round) {
      const double of_compute = 1 + part(), of_transfer = 1 + part();
      const Streams streams = joined(of_compute, of_transfer);
      StageClock clock(streams);
      double computed = 0, moved = 0;
      std::vector<int> open;
      for (int i = 0; i < 30; ++i) {
        const double seconds = part();
        if (random() % 2) {
          clock.compute(seconds);
          computed += seconds;
        } else {
          clock.start(i, 1, seconds);
          moved += seconds;
          open.push_back(i);
        }
        if (random() % 4 == 0 && !open.empty()) {
          clock.finish(open.front(), 1);
          open.erase(open.begin());
        }
      }
      for (int one : open) clock.finish(one, 1);
      QVERIFY(clock.time() >= std::max(computed, moved) - 1e-9);
      QVERIFY(clock.time() <= std::max(computed * of_compute + moved, moved * of_transfer + computed) + 1e-9);
      QVERIFY(clock.hidden() <= computed * of_compute + 1e-9);
    }
  }

  void a_device_waits_for_its_host_where_that_issues_too_slowly_and_not_where_it_is_ahead() {
    std::mt19937 random(2);
    for (int round = 0; round < 300; ++round) {
      Streams streams;
      streams.issue_seconds = static_cast<double>(random() % 1000) * 1e-3;
      StageClock clock(streams);
      double end = 0, work = 0;
      for (int i = 1; i <= 40; ++i) {
        const double seconds = 1e-3 * static_cast<double>(1 + random() % 1000), before = end;
        end = std::max(end, i * streams.issue_seconds) + seconds;
        work += seconds;
        const TimeSpan span = clock.compute(seconds);
        QVERIFY(near(span.start, before) && near(span.end, end));
        clock.compute(0);  // is not issued
      }
      QVERIFY(end >= std::max(work, 40 * streams.issue_seconds) && end <= work + 40 * streams.issue_seconds);
    }
  }

  void a_transfer_begins_no_earlier_than_it_is_issued_and_those_before_it_continue() {
    Streams streams = joined(1, 1);
    streams.issue_seconds = 1;
    StageClock clock(streams);
    const TimeSpan first = clock.start(0, 1, 0.5);
    QVERIFY(near(first.start, 0) && near(first.end, 1));
    clock.start(1, 1, 3);
    QVERIFY(!clock.is_open(0, 1));
    QVERIFY(near(clock.finish(1, 1).end, 5));
    QVERIFY(near(clock.exposed(), 3));
  }

  void a_host_that_waits_for_messages_issues_nothing_meanwhile() {
    for (bool waits : {false, true}) {
      Streams streams;
      streams.issue_seconds = 1;
      streams.blocking_messages = waits;
      StageClock clock(streams);
      clock.await(10);
      for (int i = 0; i < 4; ++i) clock.compute(0.25);
      QVERIFY(near(clock.time(), waits ? 14.25 : 11));
    }
  }

  void idle_time_moves_what_is_open() {
    const Streams streams;
    StageClock clock(streams);
    clock.start(0, 1, 2);
    clock.idle_until(1.5);
    QCOMPARE(clock.time(), 1.5);
    QVERIFY(near(clock.finish(0, 1).end, 2));
    clock.idle_until(1);
    QVERIFY(near(clock.time(), 2));
  }
};

REGISTER_TEST(StageClockTest)

}  // namespace stage_clock_test

#include "stage_clock_test.moc"
