#include "engine/worker/step_meter.h"

#include <QTemporaryDir>
#include <QTest>
#include <ctime>
#include <random>
#include <thread>

#include "engine/worker/outside_memory.h"
#include "tests/test_program.h"

namespace step_meter_test {

using namespace shardscope;

namespace {

// Three steps, one of each phase.
Plan three_phases() {
  Plan plan;
  for (Phase phase : {Phase::forward, Phase::backward, Phase::update}) {
    Instruction instruction;
    instruction.phase = phase;
    plan.program.tasks.push_back({"task", phase, {instruction}, {}, {}});
  }
  plan.program.sequences = {make_sequence(Purpose::train_step, {{0}, {1}, {2}}, plan.program.tasks)};
  return plan;
}

int64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void work(double milliseconds) {
  for (const int64_t end = thread_cpu_ns() + static_cast<int64_t>(milliseconds * 1e6); thread_cpu_ns() < end;) {
  }
}

void rest(double milliseconds) { std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds)); }

}  // namespace

class StepMeterTest : public QObject {
  Q_OBJECT

 private slots:
  void what_is_done_in_a_pause_counts_for_nothing() {
    const Plan plan = three_phases();
    StepMeter meter(plan, 0, nullptr);
    const int64_t begun = monotonic_ns();
    meter.start();
    meter.begin(0);
    work(2);
    meter.end(0, 0, 0);
    meter.pause();
    const int64_t paused = monotonic_ns();
    work(6);
    const int64_t pause_ns = monotonic_ns() - paused;
    meter.resume();
    meter.begin(1);
    work(2);
    meter.end(1, 0, 0);
    const int64_t all_ns = monotonic_ns() - begun;
    RankMeasurement measured;
    meter.read(measured);
    const double busy = measured.busy_ms[0] + measured.busy_ms[1];
    QVERIFY(busy >= 4 && busy <= static_cast<double>(all_ns - pause_ns) * 1e-6);
    QVERIFY(measured.cpu_ms[0] + measured.cpu_ms[1] <= busy);
  }

  void work_being_kept_from_it_and_waiting_are_distinguished() {
    const Plan plan = three_phases();
    StepMeter meter(plan, 0, nullptr);
    for (int repeat = 0; repeat < 2; ++repeat) {
      meter.start();
      meter.begin(0);
      work(6);
      meter.end(0, 0, 0);
      meter.begin(1);
      rest(6);  // as a thread that is preempted: not running, and not for a peer
      meter.end(1, 0, 0);
      meter.begin(2);
      const int64_t before = monotonic_ns();
      rest(6);
      const int64_t waited = monotonic_ns() - before;
      meter.end(2, waited, 0);
      RankMeasurement measured;
      meter.read(measured);
      QVERIFY(measured.cpu_ms[0] >= 6 && measured.busy_ms[0] >= measured.cpu_ms[0]);
      QVERIFY(measured.busy_ms[1] >= 6 && measured.cpu_ms[1] < 3);
      QVERIFY(measured.wait_ms[2] >= 6 && measured.cpu_ms[2] <= measured.busy_ms[2]);
      QCOMPARE(measured.wait_ms[0], 0.0);
      QCOMPARE(measured.wait_ms[1], 0.0);
    }
  }

  void each_plan_step_of_a_trace_has_the_time_at_which_it_was_done() {
    QTemporaryDir directory;
    const std::string path = directory.path().toStdString();
    const Plan plan = three_phases();
    TelemetryWriter writer(path, 0, 1);
    writer.set_plan(1, 3);
    StepMeter meter(plan, 0, &writer);
    writer.begin_training_step(4);
    const int64_t before = monotonic_ns();
    meter.start();
    for (int position = 0; position < 3; ++position) {
      meter.begin(position);
      rest(0.1);
      meter.end(position, 1000, 0);
    }
    writer.keep_trace(TraceChoice::latest);
    const auto trace = TelemetryReader::open(path, 0)->take_trace(TraceChoice::latest);
    QVERIFY(trace && trace->step == 4 && trace->times.size() == 3);
    int64_t last = before;
    for (const PlanStepTime& time : trace->times) {
      QVERIFY(time.arrive_ns >= last && time.end_ns > time.start_ns);
      QCOMPARE(time.start_ns, time.arrive_ns + 1000);
      last = time.end_ns;
    }
    QVERIFY(last <= monotonic_ns());
  }

  void the_first_and_last_step_are_traced_and_those_between_at_a_bounded_rate() {
    for (const int64_t events : {100, 100'000}) {
      TraceChooser chooser(events);
      int latest = 0;
      const int steps = 100'000;
      for (int step = 0; step < steps; ++step) {
        const bool kept = chooser.choose(1.0, step + 1 == steps).latest;
        latest += kept;
        if (step == 0 || step + 1 == steps) QVERIFY(kept);
      }
      QVERIFY(latest > 10 && latest <= steps / (events == 100 ? 500 : 1000) + 2);
    }
  }

  void the_slowest_step_is_traced_and_the_first_only_while_it_is_alone() {
    TraceChooser chooser(100);
    const std::vector<double> milliseconds = {900, 10, 9, 30, 30, 29, 31, 5};
    std::vector<bool> kept;
    for (double ms : milliseconds) kept.push_back(chooser.choose(ms, false).slowest);
    QCOMPARE(kept, (std::vector<bool>{true, true, false, true, false, false, true, false}));
  }

  void a_step_near_the_median_is_traced_however_short_the_run() {
    TraceChooser chooser(100'000);
    const std::vector<double> milliseconds = {900, 40, 12, 10, 30, 10, 11, 10, 47};
    double kept = 0;
    for (size_t i = 0; i < milliseconds.size(); ++i) {
      if (chooser.choose(milliseconds[i], i + 1 == milliseconds.size()).median) kept = milliseconds[i];
    }
    QCOMPARE(kept, 11.0);  // of 10 10 10 11 12 30 40 47
  }

  void the_median_trace_follows_the_median_and_is_replaced_seldom() {
    for (unsigned seed = 0; seed < 50; ++seed) {
      std::mt19937 random(seed);
      std::uniform_real_distribution<double> noise(0.9, 1.3);
      TraceChooser chooser(100);
      StepTimes times;
      double kept_ms = 0;
      int kept = 0;
      for (int step = 0; step < 5000; ++step) {
        const double ms = (step < 2000 ? 10 : 20) * noise(random);
        times.add(ms);
        if (chooser.choose(ms, false).median) kept_ms = ms, ++kept;
      }
      QVERIFY(std::abs(kept_ms / *times.median() - 1) < 0.03);
      QVERIFY2(kept < 250, std::to_string(kept).c_str());
    }
  }

  void memory_outside_is_what_this_process_holds_for_itself() {
    constexpr size_t held = 64 << 20;
    const int64_t before = private_bytes();
    QVERIFY(before > 0);
    std::vector<char> memory(held, 'x');
    const int64_t during = private_bytes();
    QVERIFY(during - before >= int64_t{held} && during - before < int64_t{held} + (8 << 20));
    QCOMPARE(memory[held / 2], 'x');
  }
};

REGISTER_TEST(StepMeterTest)

}  // namespace step_meter_test

#include "step_meter_test.moc"
