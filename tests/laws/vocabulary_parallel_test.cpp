#include <QtTest>
#include <cmath>

#include "engine/machine/host_machine.h"
#include "tests/laws/preset_case.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace vocabulary_parallel_test {

using namespace shardscope;

namespace {

constexpr int64_t steps = 3;

// The preset's decoder with `size`, its logits split by vocabulary over the axis "model".
Plan plan_of(int model, const std::string& mode, std::vector<std::string> size) {
  for (const std::string& more : mesh_overrides(1, model)) size.push_back(more);
  size.insert(size.end(), {"sharding.mode=" + mode, "sharding.out=[null, null, \"model\"]",
                           "sharding.parameters.params.Dense_0.kernel=[null, \"model\"]",
                           "sharding.parameters.params.Dense_0.bias=[\"model\"]"});
  return compile({load_preset("parallax_decoder", size), reference_host()});
}

// Logits are the largest array, in both.
std::vector<std::string> small_vocabulary() {
  std::vector<std::string> size = small_size();
  size.push_back("model.vocab_size=512");
  return size;
}
std::vector<std::string> large_vocabulary() { return {"model.vocab_size=8192"}; }

int64_t whole_bytes(const ProgramValue& value) { return element_count(value.shape) * byte_size(value.dtype); }

}  // namespace

class VocabularyParallelTest : public QObject {
  Q_OBJECT

 private slots:
  void logits_split_by_vocabulary_train_as_on_one_device_data() {
    QTest::addColumn<QString>("mode");
    QTest::newRow("fastest") << "fastest";
    QTest::newRow("as written") << "as_written";
  }
  void logits_split_by_vocabulary_train_as_on_one_device() {
    QFETCH(QString, mode);
    const ThreadTraining parallel = train_in_threads(plan_of(8, mode.toStdString(), small_vocabulary()), steps);
    const ThreadTraining alone = train_in_threads(plan_of(1, "fastest", small_vocabulary()), steps);
    QCOMPARE(parallel.steps.size(), size_t{steps});
    for (size_t s = 0; s < parallel.steps.size(); ++s) {
      const std::vector<MetricValue>&got = parallel.steps[s].metrics, &expected = alone.steps[s].metrics;
      const double loss = value_of(got, "loss"), wanted = value_of(expected, "loss");
      QVERIFY2(std::abs(loss - wanted) <= 1e-5 * std::abs(wanted),
               qPrintable(QString("step %1: loss %2 instead of %3").arg(s).arg(loss).arg(wanted)));
      QVERIFY(std::abs(value_of(got, "accuracy") - value_of(expected, "accuracy")) <= 1e-6);
    }
    QVERIFY(parallel.replicas_equal);
  }

  // What moves for the loss are three small arrays of one number a row: a maximum, two sums and the maximum of indices.
  // In mode fastest where the logits are large: small ones take one all-to-all, which has fewer latencies.
  void no_collective_moves_an_array_as_large_as_the_logits_data() {
    QTest::addColumn<QString>("mode");
    QTest::addColumn<bool>("large");
    QTest::newRow("as written, small") << "as_written" << false;
    QTest::newRow("as written, large") << "as_written" << true;
    QTest::newRow("fastest, large") << "fastest" << true;
  }
  void no_collective_moves_an_array_as_large_as_the_logits() {
    QFETCH(QString, mode);
    QFETCH(bool, large);
    const Plan plan = plan_of(8, mode.toStdString(), large ? large_vocabulary() : small_vocabulary());
    const Graph& graph = *plan.graph;
    const int64_t logits = graph.type(graph.outputs.at("logits")).bytes();
    int maxima = 0;
    for (const Instruction& instruction : plan.instructions()) {
      if (!is_collective(instruction.kind())) continue;
      maxima += instruction.as<CollectiveStart>()->reduction == Reduction::max;
      for (int input : instruction.operands()) {
        const ProgramValue& moved = plan.program.values[input];
        QVERIFY2(whole_bytes(moved) < logits,
                 (plan.instruction_name(instruction) + ": " + plan.value_name(input)).c_str());
      }
    }
    QVERIFY(maxima >= 2);
  }
};

REGISTER_TEST(VocabularyParallelTest)

}  // namespace vocabulary_parallel_test

#include "vocabulary_parallel_test.moc"
