#include "engine/session/telemetry.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>
#include <atomic>
#include <fstream>
#include <thread>

#include "engine/base/error.h"
#include "engine/session/control.h"

using namespace shardscope;

namespace {

// Every field follows from the step, so that a mixture of two records shows.
StepRecord record_of(int64_t step) {
  StepRecord record{step, step * 2.0, {step * 3, step * 5, step * 7.0, step * 11, step * 13}, {}};
  for (size_t i = 0; i < max_metrics; ++i) record.metrics[i] = static_cast<double>(step) / static_cast<double>(i + 2);
  return record;
}

StepEvent event_of(int64_t number) {
  return {number % 1000, number, number * 3, number * 3 + 1, number * 3 + 2, number * 11};
}

}  // namespace

class TelemetryTest : public QObject {
  Q_OBJECT

 private slots:
  void what_the_writer_stores_is_what_the_reader_gets();
  void a_reader_finds_no_file_or_a_complete_one();
  void a_file_that_is_not_telemetry_is_refused();
  void records_come_once_and_in_order_however_polls_fall();
  void an_overrun_ring_gives_the_latest_records_and_counts_the_lost_ones();
  void a_record_is_never_torn_while_the_writer_runs();
  void what_a_killed_process_wrote_stays_readable();
  void the_first_failure_stays();
  void a_stop_request_reaches_the_other_mapping();
};

void TelemetryTest::what_the_writer_stores_is_what_the_reader_gets() {
  QTemporaryDir directory;
  TelemetryWriter writer(directory.path().toStdString(), 3, 8);
  auto reader = TelemetryReader::open(directory.path().toStdString(), 3);
  QVERIFY(reader);
  RankStatus status = reader->status();
  QCOMPARE(status.rank, 3);
  QCOMPARE(status.world_size, 8);
  QCOMPARE(status.pid, ::getpid());
  QVERIFY(status.state == RankState::starting);
  QCOMPARE(status.training_step, int64_t{-1});
  QCOMPARE(status.plan_step, -1);

  int64_t before = monotonic_ns();
  writer.set_plan_hash(0xfedcba9876543210u);
  writer.set_state(RankState::running);
  writer.begin_training_step(4);
  writer.begin_plan_step(17);
  status = reader->status();
  QCOMPARE(status.plan_hash, 0xfedcba9876543210u);
  QVERIFY(status.state == RankState::running);
  QCOMPARE(status.training_step, int64_t{4});
  QCOMPARE(status.plan_step, 17);
  QCOMPARE(status.heartbeat, uint64_t{1});
  QVERIFY(status.heartbeat_ns >= before && status.heartbeat_ns <= monotonic_ns());
}

void TelemetryTest::a_reader_finds_no_file_or_a_complete_one() {
  QTemporaryDir directory;
  std::string path = directory.path().toStdString();
  std::atomic<bool> found = false;
  std::thread watcher([&] {
    for (;;) {
      auto reader = TelemetryReader::open(path, 0);
      if (!reader) continue;
      found = reader->status().world_size == 2;
      return;
    }
  });
  TelemetryWriter writer(path, 0, 2);
  watcher.join();
  QVERIFY(found);
}

void TelemetryTest::a_file_that_is_not_telemetry_is_refused() {
  QTemporaryDir directory;
  std::string path = directory.path().toStdString();
  size_t whole = 0;
  {
    TelemetryWriter writer(path, 0, 1);
    whole = MappedFile::open(telemetry_path(path, 0), MappedFile::Access::read).size();
  }
  for (const std::string& content :
       {std::string(), std::string("x"), std::string(whole, 'x'), std::string(whole, '\0')}) {
    std::ofstream(telemetry_path(path, 0), std::ios::binary | std::ios::trunc) << content;
    QVERIFY_THROWS_EXCEPTION(Failure, TelemetryReader::open(path, 0));
  }
}

void TelemetryTest::records_come_once_and_in_order_however_polls_fall() {
  QTemporaryDir directory;
  TelemetryWriter writer(directory.path().toStdString(), 0, 1);
  auto reader = TelemetryReader::open(directory.path().toStdString(), 0);
  std::vector<StepRecord> steps;
  std::vector<StepEvent> events;
  uint32_t random = 1;
  for (int64_t i = 0; i < 50000; ++i) {
    writer.add_event(event_of(i));
    if (i % 50 == 0) writer.add_step(record_of(i / 50));
    random = random * 1664525 + 1013904223;
    if (random >> 22 != 0 && i % 9000 != 0) continue;
    for (const StepRecord& step : reader->take_steps()) steps.push_back(step);
    for (const StepEvent& event : reader->take_events()) events.push_back(event);
  }
  for (const StepRecord& step : reader->take_steps()) steps.push_back(step);
  for (const StepEvent& event : reader->take_events()) events.push_back(event);
  QCOMPARE(reader->lost(), int64_t{0});
  QCOMPARE(steps.size(), size_t{1000});
  QCOMPARE(events.size(), size_t{50000});
  for (size_t i = 0; i < steps.size(); ++i) QVERIFY(steps[i] == record_of(static_cast<int64_t>(i)));
  for (size_t i = 0; i < events.size(); ++i) QVERIFY(events[i] == event_of(static_cast<int64_t>(i)));
}

void TelemetryTest::an_overrun_ring_gives_the_latest_records_and_counts_the_lost_ones() {
  QTemporaryDir directory;
  TelemetryWriter writer(directory.path().toStdString(), 0, 1);
  auto reader = TelemetryReader::open(directory.path().toStdString(), 0);
  const int64_t added = 5000;
  for (int64_t i = 0; i < added; ++i) writer.add_step(record_of(i));
  std::vector<StepRecord> steps = reader->take_steps();
  QCOMPARE(steps.size(), size_t{1024});
  QCOMPARE(reader->lost(), added - 1024);
  for (size_t i = 0; i < steps.size(); ++i) QVERIFY(steps[i] == record_of(added - 1024 + static_cast<int64_t>(i)));
  QVERIFY(reader->take_steps().empty());
}

void TelemetryTest::a_record_is_never_torn_while_the_writer_runs() {
  QTemporaryDir directory;
  std::string path = directory.path().toStdString();
  TelemetryWriter writer(path, 0, 1);
  const int64_t added = 400000;
  std::thread writing([&] {
    for (int64_t i = 0; i < added; ++i) writer.add_event(event_of(i));
  });
  auto reader = TelemetryReader::open(path, 0);
  int64_t seen = 0, last = -1;
  bool whole = true, ordered = true;
  while (last + 1 < added) {
    for (const StepEvent& event : reader->take_events()) {
      whole = whole && event == event_of(event.training_step);
      ordered = ordered && event.training_step > last;
      last = event.training_step;
      ++seen;
    }
  }
  writing.join();
  QVERIFY(whole);
  QVERIFY(ordered);
  QCOMPARE(seen + reader->lost(), added);
}

void TelemetryTest::what_a_killed_process_wrote_stays_readable() {
  QTemporaryDir directory;
  std::string path = directory.path().toStdString();
  pid_t child = ::fork();
  if (child == 0) {
    TelemetryWriter writer(path, 1, 2);
    writer.set_state(RankState::running);
    writer.begin_training_step(2);
    writer.begin_plan_step(9);
    writer.add_step(record_of(1));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  QCOMPARE(::waitpid(child, &status, 0), child);
  QVERIFY(WIFSIGNALED(status));
  auto reader = TelemetryReader::open(path, 1);
  QVERIFY(reader);
  QCOMPARE(reader->status().pid, child);
  QCOMPARE(reader->status().plan_step, 9);
  QVERIFY(reader->take_steps() == std::vector<StepRecord>{record_of(1)});
}

void TelemetryTest::the_first_failure_stays() {
  QTemporaryDir directory;
  std::string path = directory.path().toStdString();
  TelemetryWriter writer(path, 0, 1);
  std::string longest(10000, 'e');
  writer.fail("the first reason");
  writer.fail(longest);
  writer.set_state(RankState::finished);
  RankStatus status = TelemetryReader::open(path, 0)->status();
  QVERIFY(status.state == RankState::failed);
  QCOMPARE(status.error_text, std::string("the first reason"));
  TelemetryWriter other(path, 1, 1);
  other.fail(longest);
  QCOMPARE(TelemetryReader::open(path, 1)->status().error_text, longest.substr(0, 4000));
}

void TelemetryTest::a_stop_request_reaches_the_other_mapping() {
  QTemporaryDir directory;
  std::string path = directory.path().toStdString();
  QVERIFY_THROWS_EXCEPTION(Failure, Control::open(path));
  Control launcher = Control::create(path);
  Control rank = Control::open(path);
  QVERIFY(!rank.stop_requested());
  launcher.request_stop();
  QVERIFY(rank.stop_requested());
}

QTEST_APPLESS_MAIN(TelemetryTest)
#include "telemetry_test.moc"
