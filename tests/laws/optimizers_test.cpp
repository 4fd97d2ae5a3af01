#include <QTemporaryDir>
#include <QtTest>

#include "engine/compile/document_of.h"
#include "engine/compile/settings.h"
#include "engine/machine/host_machine.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace optimizers_law_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

struct Optimizer {
  const char* name;
  std::vector<std::string> settings;
  std::string state;     // that it keeps of each parameter, one array of its type
  double step_size = 0;  // of lion: the largest of one step, of either sign where a gradient is but rounding
};

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> all{
      {"sgd with momentum", {"optimizer.name=sgd", "optimizer.learning_rate=0.05", "optimizer.momentum=0.9"}, "trace"},
      {"sgd with nesterov",
       {"optimizer.name=sgd", "optimizer.learning_rate=0.05", "optimizer.momentum=0.9", "optimizer.nesterov=true"},
       "trace"},
      {"lion", {"optimizer.name=lion", "optimizer.learning_rate=1e-5"}, "mu", 1e-5}};
  return all;
}

Plan plan_of(const Optimizer& optimizer, const char* preset, const std::vector<int64_t>& mesh,
             const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings = system_preset(preset).small;
  settings.insert(settings.end(), optimizer.settings.begin(), optimizer.settings.end());
  settings.insert(settings.end(), more.begin(), more.end());
  return compile({system_run(preset, settings, mesh), reference_host()});
}

bool same_bits(const std::map<std::string, std::vector<float>>& a, const std::map<std::string, std::vector<float>>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.size() == y.second.size() &&
           std::memcmp(x.second.data(), y.second.data(), x.second.size() * sizeof(float)) == 0;
  });
}

void add_rows() {
  QTest::addColumn<int>("index");
  for (size_t i = 0; i < optimizers().size(); ++i) QTest::newRow(optimizers()[i].name) << static_cast<int>(i);
}

}  // namespace

// What holds for Adam by the laws over the presets holds for the other optimizers of Optax.
class OptimizersLawTest : public QObject {
  Q_OBJECT

 private slots:
  void any_mesh_zero_stage_and_pipeline_trains_as_one_device_data() { add_rows(); }
  void any_mesh_zero_stage_and_pipeline_trains_as_one_device() {
    QFETCH(int, index);
    const Optimizer& optimizer = optimizers()[static_cast<size_t>(index)];
    const auto compare = [&](const Plan& plan, const ThreadTraining& alone) {
      const ThreadTraining training = train_in_threads(plan, serial_steps);
      const int64_t zero_stage = document_of(plan).sharding.zero.stage;
      QVERIFY(training.replicas_equal);
      for (size_t s = 0; s < alone.steps.size(); ++s) {
        const double expected = value_of(alone.steps[s].metrics, "loss");
        QVERIFY(std::abs(value_of(training.steps[s].metrics, "loss") - expected) <= 1e-5 * std::abs(expected));
      }
      for (const auto& [name, values] : alone.parameters) {
        const std::vector<float>& others = training.parameters.at(name);
        std::vector<float> difference(values.size());
        for (size_t i = 0; i < values.size(); ++i) difference[i] = others[i] - values[i];
        const double flips = 2 * optimizer.step_size * serial_steps * std::sqrt(static_cast<double>(values.size()));
        QVERIFY2(norm(difference) <= 1e-4 * norm(values) + flips + 1e-7, name.c_str());
      }
      for (const RankMeasurement& rank : training.ranks) {
        QCOMPARE(rank.arena_bytes, plan.arena_of(rank.rank).bytes);
        if (zero_stage == 0) QCOMPARE(rank.optimizer_bytes, rank.parameter_bytes);
        else QVERIFY(rank.optimizer_bytes < rank.parameter_bytes || zero_stage == 3);
      }
    };
    const ThreadTraining alone = train_in_threads(plan_of(optimizer, "tiny_lm_dp", {1}), serial_steps);
    for (const auto& [name, values] : alone.optimizer) QVERIFY2(name.starts_with(optimizer.state + "/"), name.c_str());
    for (const std::string stage : {"0", "1", "2", "3"})
      compare(plan_of(optimizer, "tiny_lm_dp", {4}, {"sharding.zero.stage=" + stage, "schedule.microbatches=2"}),
              alone);
    compare(plan_of(optimizer, "workshop_gpipe", {2}, {"pipeline.layers=[]", "pipeline.schedule=1f1b"}),
            train_in_threads(plan_of(optimizer, "workshop_gpipe", {1}, {"pipeline.axis=\"\""}), serial_steps));
  }

  void a_resumed_run_is_the_uninterrupted_one_also_on_another_mesh_data() { add_rows(); }
  void a_resumed_run_is_the_uninterrupted_one_also_on_another_mesh() {
    QFETCH(int, index);
    const Optimizer& optimizer = optimizers()[static_cast<size_t>(index)];
    const Plan plan = plan_of(optimizer, "tiny_lm_fsdp", {4});
    QTemporaryDir folder;
    CheckpointOptions into, from;
    into.folder = from.resume = folder.path().toStdString();
    const ThreadTraining half = train_in_threads(plan, 2, {}, {}, {}, into);
    const ThreadTraining whole = train_in_threads(plan, 4), rest = train_in_threads(plan, 4, {}, {}, {}, from);
    QCOMPARE(rest.steps.size(), size_t{2});
    QVERIFY(same_bits(rest.parameters, whole.parameters) && same_bits(rest.optimizer, whole.optimizer));
    const ThreadTraining loaded = train_in_threads(plan_of(optimizer, "tiny_lm_fsdp", {2}), 2, {}, {}, {}, from);
    QVERIFY(same_bits(loaded.parameters, half.parameters) && same_bits(loaded.optimizer, half.optimizer));
    QVERIFY(!same_bits(half.optimizer, whole.optimizer));
  }
};

REGISTER_TEST(OptimizersLawTest)

}  // namespace optimizers_law_test

#include "optimizers_test.moc"
