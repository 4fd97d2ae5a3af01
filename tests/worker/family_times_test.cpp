#include "engine/session/family_times.h"

#include <QTest>
#include <cmath>

#include "engine/compile/compile.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/cost_model.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace family_times_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr double times = 1.7;

const Plan& plan() {
  static const Plan made = [] {
    Machine machine = reference_host();
    machine.device.memory[0].bytes_per_second = 1e12;  // so that products are limited by their rate
    machine.device.instruction_latency = 1e-7;
    machine.levels[0].latency = 1e-7;
    return compile({system_run("tiny_lm_fsdp", {}), machine});
  }();
  return made;
}

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

const FamilyTimes& find(const std::vector<FamilyTimes>& list, const std::string& family) {
  const auto found =
      std::ranges::find_if(list, [&](const FamilyTimes& own) { return to_string(own.family) == family; });
  if (found == list.end()) throw std::runtime_error("no " + family);
  return *found;
}

double predicted(const std::vector<FamilyTimes>& list, const PricedFamily& family, const Machine& machine) {
  Plan other = plan();
  other.machine = machine;
  other.instruction_seconds = predict_seconds(other.program, *other.graph, WorkPrices(machine, other.mesh));
  const TraceMessage trace = trace_with([](const Instruction&) { return false; });
  for (const FamilyTimes& own : family_times(other, trace))
    if (own.family == family) return own.predicted;
  return list.empty() ? 0 : std::nan("");
}

}  // namespace

class FamilyTimesTest : public QObject {
  Q_OBJECT

 private slots:
  void the_family_that_is_off_is_told_by_how_much_and_the_corrected_machine_predicts_what_was_measured_data() {
    QTest::addColumn<QString>("family");
    for (const char* family : {"matrix products in f32", "gelu", "reduce-scatter over host"})
      QTest::newRow(family) << family;
  }
  void the_family_that_is_off_is_told_by_how_much_and_the_corrected_machine_predicts_what_was_measured() {
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
    const std::vector<FamilyTimes> list = family_times(plan(), trace_with(is_slow));
    QVERIFY(list.size() > 8);
    for (const FamilyTimes& own : list) {
      const double expected = to_string(own.family) == name ? times : 1;
      QVERIFY2(std::abs(own.off - expected) < 0.02, to_string(own.family).c_str());
    }
    const FamilyTimes& off = find(list, name);
    QVERIFY(off.correction().has_value());
    const Machine corrected = with_slower(plan().machine, off.family, *off.correction(), "why");
    const double now = predicted(list, off.family, corrected);
    QVERIFY2(std::abs(now - off.measured) < 0.02 * off.measured,
             qPrintable(QString("%1 %2").arg(now).arg(off.measured)));
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
