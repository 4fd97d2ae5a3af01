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
#include "tests/test_program.h"

namespace telemetry_test {

using namespace shardscope;

namespace {

// Every field follows from the step, so that a mixture of two records shows.
StepRecord record_of(int64_t step) {
  StepRecord record{step, step * 2.0, {}, {}};
  record.measured = {1,         step * 3,  step * 5,      step * 17, step * 7.0,   step * 29,
                     step * 11, step * 13, {step * 19.0}, {},        {step * 23.0}};
  for (size_t i = 0; i < max_metrics; ++i) record.metrics[i] = static_cast<double>(step) / static_cast<double>(i + 2);
  return record;
}

PlanStepTime time_of(int64_t step, int plan_step) {
  const int64_t begin = step * 1000 + plan_step;
  return {begin * 3, begin * 5, begin * 7};
}

constexpr int plan_steps = 100;

void do_step(TelemetryWriter& writer, int64_t step) {
  writer.begin_training_step(step);
  for (int i = 0; i < plan_steps; ++i) writer.end_plan_step(i, time_of(step, i));
}

bool is_whole(const RankTrace& trace) {
  if (std::ssize(trace.times) != plan_steps) return false;
  for (int i = 0; i < plan_steps; ++i) {
    if (trace.times[i] != time_of(trace.step, i)) return false;
  }
  return true;
}

}  // namespace

class TelemetryTest : public QObject {
  Q_OBJECT

 private slots:
  void what_the_writer_stores_is_what_the_reader_gets();
  void a_reader_finds_no_file_or_a_complete_one();
  void a_file_that_is_not_telemetry_is_refused();
  void records_come_once_and_in_order_however_polls_fall();
  void no_step_is_lost_however_late_the_reader_comes();
  void a_rank_that_waits_for_its_reader_says_so_and_its_heart_beats();
  void a_trace_that_is_kept_comes_once_and_the_last_one_kept();
  void a_trace_is_never_torn_while_the_writer_runs();
  void the_load_of_experts_is_the_newest_and_never_torn();
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
  writer.set_plan(0xfedcba9876543210u, 20);
  writer.set_state(RankState::running);
  writer.begin_training_step(4);
  writer.begin_plan_step(17);
  status = reader->status();
  QCOMPARE(status.plan_hash, 0xfedcba9876543210u);
  QVERIFY(status.state == RankState::running);
  QCOMPARE(status.training_step, int64_t{4});
  QCOMPARE(status.plan_step, 17);
  QCOMPARE(status.heartbeat, uint64_t{2});
  QVERIFY(status.heartbeat_ns >= before && status.heartbeat_ns <= monotonic_ns());
}

void TelemetryTest::a_reader_finds_no_file_or_a_complete_one() {
  QTemporaryDir directory;
  std::string path = directory.path().toStdString();
  std::atomic<bool> found = false;
  std::thread client([&] {
    for (;;) {
      auto reader = TelemetryReader::open(path, 0);
      if (!reader) continue;
      found = reader->status().world_size == 2;
      return;
    }
  });
  TelemetryWriter writer(path, 0, 2);
  client.join();
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
  const auto take = [&](size_t most) {
    const std::vector<StepRecord> taken = reader->take_steps(most);
    QVERIFY(taken.size() <= most);
    steps.insert(steps.end(), taken.begin(), taken.end());
  };
  uint32_t random = 1;
  for (int64_t i = 0; i < 20000; ++i) {
    writer.add_step(record_of(i));
    random = random * 1664525 + 1013904223;
    if (random >> 22 == 0 || i % 1000 == 0) take(random % 5000);
  }
  take(TelemetryWriter::step_capacity);
  QCOMPARE(steps.size(), size_t{20000});
  for (size_t i = 0; i < steps.size(); ++i) QVERIFY(steps[i] == record_of(static_cast<int64_t>(i)));
  QVERIFY(reader->take_steps().empty());
}

void TelemetryTest::no_step_is_lost_however_late_the_reader_comes() {
  QTemporaryDir directory;
  const std::string path = directory.path().toStdString();
  const int64_t added = 3 * TelemetryWriter::step_capacity;
  TelemetryWriter writer(path, 0, 1);
  std::thread writing([&] {
    for (int64_t i = 0; i < added; ++i) writer.add_step(record_of(i));
  });
  auto reader = TelemetryReader::open(path, 0);
  QVERIFY(QTest::qWaitFor([&] { return reader->status().held_ns != 0; }, 60000));
  int64_t next = 0;
  bool whole = true;
  while (next < added) {
    for (const StepRecord& record : reader->take_steps(500)) whole = whole && record == record_of(next++);
  }
  writing.join();
  QVERIFY(whole);
  QCOMPARE(next, added);
  QCOMPARE(reader->status().held_ns, int64_t{0});
}

void TelemetryTest::a_rank_that_waits_for_its_reader_says_so_and_its_heart_beats() {
  QTemporaryDir directory;
  const std::string path = directory.path().toStdString();
  TelemetryWriter writer(path, 0, 1);
  auto reader = TelemetryReader::open(path, 0);
  const int64_t before = monotonic_ns();
  for (int64_t i = 0; i < TelemetryWriter::step_capacity; ++i) writer.add_step(record_of(i));
  QCOMPARE(reader->status().held_ns, int64_t{0});
  std::thread writing([&] { writer.add_step(record_of(TelemetryWriter::step_capacity)); });
  QVERIFY(QTest::qWaitFor([&] { return reader->status().held_ns > before; }, 60000));
  const uint64_t heartbeat = reader->status().heartbeat;
  QVERIFY(QTest::qWaitFor([&] { return reader->status().heartbeat > heartbeat; }, 60000));
  QCOMPARE(reader->take_steps(1).size(), size_t{1});
  writing.join();
  QCOMPARE(reader->status().held_ns, int64_t{0});
}

void TelemetryTest::a_trace_that_is_kept_comes_once_and_the_last_one_kept() {
  QTemporaryDir directory;
  const std::string path = directory.path().toStdString();
  TelemetryWriter writer(path, 0, 1);
  auto reader = TelemetryReader::open(path, 0);
  QVERIFY(!reader->take_trace(TraceChoice::latest));
  writer.set_plan(1, plan_steps);
  do_step(writer, 0);
  QVERIFY(!reader->take_trace(TraceChoice::latest));
  for (int64_t step = 1; step < 50; ++step) {
    do_step(writer, step);
    if (step % 3 == 0) writer.keep_trace(TraceChoice::latest);
    if (step % 9 == 0) writer.keep_trace(TraceChoice::slowest);
    if (step % 5 != 0) continue;
    const auto latest = reader->take_trace(TraceChoice::latest);
    QVERIFY(latest && is_whole(*latest));
    QCOMPARE(latest->step, step / 3 * 3);
    QVERIFY(!reader->take_trace(TraceChoice::latest));
  }
  const auto slowest = reader->take_trace(TraceChoice::slowest);
  QVERIFY(slowest && is_whole(*slowest));
  QCOMPARE(slowest->step, int64_t{45});
}

void TelemetryTest::a_trace_is_never_torn_while_the_writer_runs() {
  QTemporaryDir directory;
  const std::string path = directory.path().toStdString();
  TelemetryWriter writer(path, 0, 1);
  writer.set_plan(1, plan_steps);
  auto reader = TelemetryReader::open(path, 0);
  std::atomic<bool> done = false;
  std::thread writing([&] {
    for (int64_t step = 0; step < 20000; ++step) {
      do_step(writer, step);
      writer.keep_trace(step % 2 ? TraceChoice::latest : TraceChoice::slowest);
    }
    done = true;
  });
  bool whole = true, ordered = true;
  int64_t last = -1;
  while (!done) {
    if (const auto slowest = reader->take_trace(TraceChoice::slowest)) whole = whole && is_whole(*slowest);
    const auto latest = reader->take_trace(TraceChoice::latest);
    if (!latest) continue;
    whole = whole && is_whole(*latest);
    ordered = ordered && latest->step > last;
    last = latest->step;
  }
  writing.join();
  QVERIFY(whole && ordered);
  const auto latest = reader->take_trace(TraceChoice::latest);
  QCOMPARE(latest ? latest->step : last, int64_t{19999});
}

void TelemetryTest::the_load_of_experts_is_the_newest_and_never_torn() {
  QTemporaryDir directory;
  const std::string path = directory.path().toStdString();
  TelemetryWriter writer(path, 0, 1);
  auto reader = TelemetryReader::open(path, 0);
  QVERIFY(!reader->take_expert_load());
  constexpr size_t numbers = 300;
  writer.set_plan(1, plan_steps, numbers);
  QVERIFY(!reader->take_expert_load());
  std::atomic<bool> done = false;
  std::thread writing([&] {
    for (int64_t step = 0; step < 20000; ++step) {
      writer.put_expert_load(step, std::vector<float>(numbers, static_cast<float>(step)));
    }
    done = true;
  });
  bool whole = true;
  int64_t last = -1;
  const auto take = [&] {
    const auto load = reader->take_expert_load();
    if (!load) return;
    whole = whole && load->step > last && load->numbers == std::vector<float>(numbers, static_cast<float>(load->step));
    last = load->step;
  };
  while (!done) take();
  writing.join();
  take();
  QVERIFY(whole);
  QCOMPARE(last, int64_t{19999});
  QVERIFY(!reader->take_expert_load());
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

REGISTER_TEST(TelemetryTest)

}  // namespace telemetry_test

#include "telemetry_test.moc"
