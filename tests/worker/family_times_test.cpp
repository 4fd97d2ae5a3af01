#include "engine/session/machine_correction.h"

#include <QTest>
#include <cmath>
#include <numeric>

#include "engine/compile/compile.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace family_times_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr double times = 1.7;

const Plan& plan_on(int cores) {
  const auto made_on = [](int count) {
    Machine machine = reference_host();
    machine.device.cores = count;
    machine.device.memory[0].bytes_per_second = 1e12;  // so that products are limited by their rate
    machine.device.instruction_latency = 1e-7;
    machine.levels[0].latency = 1e-7;
    machine.device.kernels["gelu"].efficiency = 0.02;  // so that it is worth a correction
    return compile({system_run("tiny_lm_fsdp", {}), machine});
  };
  static const Plan alone = made_on(8), shared = made_on(2);
  return cores == 8 ? alone : shared;
}
const Plan& plan() { return plan_on(8); }  // of eight ranks

// Each instruction as predicted, but `slow` so many times as long; in collectives a rank waits, which does not count.
TraceMessage trace_with(const std::function<bool(const Instruction&)>& slow) {
  TraceMessage trace;
  for (int rank = 0; rank < plan().mesh.device_count(); ++rank) {
    std::vector<PlanStepTime>& list = trace.ranks.emplace_back();
    int64_t now = 1000 * rank;
    const SequenceInstructions instructions = plan().instructions();
    for (int position = 0; position < instructions.size(); ++position) {
      const int start = instructions.start_of(position);
      const bool is_done = start != position, is_start = instructions.done_of(position) != position;
      const double seconds = is_start ? 0 : plan().seconds(start) * (slow(instructions[start]) ? times : 1);
      const int64_t begin = now + (is_done ? 500'000 : 0);
      list.push_back({now, begin, begin + std::llround(seconds * 1e9)});
      now = list.back().end_ns;
    }
  }
  return trace;
}

}  // namespace

class FamilyTimesTest : public QObject {
  Q_OBJECT

 private slots:
  void the_family_that_is_off_is_reported_by_how_much_and_the_corrected_machine_predicts_what_was_measured_data() {
    QTest::addColumn<QString>("family");
    for (const char* family : {"matrix products in f32", "gelu", "reduce-scatter over host"})
      QTest::newRow(family) << family;
  }
  void the_family_that_is_off_is_reported_by_how_much_and_the_corrected_machine_predicts_what_was_measured() {
    QFETCH(QString, family);
    const std::string name = family.toStdString();
    const auto is_slow = [&](const Instruction& instruction) {
      if (instruction.as<CollectiveStart>())
        return name == "reduce-scatter over host" && instruction.kind() == InstructionKind::reduce_scatter;
      if (!instruction.as<Compute>()) return false;
      const OpDefinition& definition = *plan().graph->ops[size_t(instruction.op)].definition;
      return name == "gelu" ? definition.name() == "gelu"
                            : name == "matrix products in f32" && definition.is_matrix_product();
    };
    const MachineCorrection correction = correct_machine(plan(), trace_with(is_slow));
    QVERIFY(correction.families.size() > 8);
    for (const auto& [own, is_off, is_corrected, corrected] : correction.families) {
      const bool is_it = to_string(own.family) == name;
      QVERIFY2(std::abs(own.off - (is_it ? times : 1)) < 0.02, to_string(own.family).c_str());
      QVERIFY(is_off == is_it && is_corrected == is_it);
      QVERIFY2(std::abs(corrected - own.measured) < 0.02 * own.measured, to_string(own.family).c_str());
    }
    QVERIFY(correction.changes_machine());
    QCOMPARE(correction.lines().size(), size_t{1});
    QVERIFY(correction.lines()[0].starts_with(name + ": 1.7 times as long as predicted"));
  }

  void a_run_that_took_what_was_predicted_changes_nothing() {
    const MachineCorrection correction = correct_machine(plan(), trace_with([](const Instruction&) { return false; }));
    QVERIFY(!correction.changes_machine() && correction.machine == plan().machine);
    QVERIFY(correction.lines()[0].starts_with("No family"));
  }

  // A rank computes with a core to itself, and waits while the others do.
  void ranks_that_share_cores_are_slow_by_what_the_step_is() {
    const Plan& shared = plan_on(2);
    for (const double slow : {1.0, 1.4}) {
      TraceMessage trace;
      for (int rank = 0; rank < 8; ++rank) {
        std::vector<PlanStepTime>& list = trace.ranks.emplace_back();
        int64_t now = 0;
        for (int position = 0; position < shared.instructions().size(); ++position) {
          const int start = shared.instructions().start_of(position);
          const bool is_start = shared.instructions().done_of(position) != position;
          const int64_t whole = is_start ? 0 : std::llround(slow * shared.seconds(start) * 1e9);
          const int64_t own = (position + rank) % 5 == 0 ? whole : whole / 4;  // some are interrupted
          list.push_back({now, now + whole - own, now + whole});
          now += whole;
        }
      }
      const MachineCorrection correction = correct_machine(shared, trace);
      for (const MachineCorrection::Family& family : correction.families)
        QVERIFY2(std::abs(family.times.off - slow) < 0.3 * slow, to_string(family.times.family).c_str());
      const double predicted =
          std::accumulate(correction.families.begin(), correction.families.end(), 0.0,
                          [](double sum, const MachineCorrection::Family& family) { return sum + family.corrected; });
      QVERIFY(std::abs(predicted / slow / shared.totals.seconds_per_step - 1) < 0.05);
    }
  }

  void a_trace_of_another_plan_tells_nothing() {
    TraceMessage trace = trace_with([](const Instruction&) { return false; });
    trace.ranks.back().pop_back();
    QVERIFY(family_times(plan(), trace).empty());
    trace.ranks.pop_back();
    QVERIFY(family_times(plan(), trace).empty());
  }

  void latency_alone_is_no_reason_to_correct_a_rate() {
    FamilyTimes times;
    times.off = 2;
    times.predicted = 10;
    times.latency = 8;
    QVERIFY(!times.correction());
    times.latency = 2;
    QCOMPARE(*times.correction(), 18.0 / 8);
  }
};

REGISTER_TEST(FamilyTimesTest)

}  // namespace family_times_test

#include "family_times_test.moc"
