#include <QtTest>

#include "engine/machine/host_machine.h"
#include "tests/compile/plan_check.h"
#include "tests/laws/preset_case.h"
#include "tests/laws/training_agreement.h"
#include "tests/test_program.h"

namespace clipping_test {

using namespace shardscope;

namespace {

constexpr int64_t steps = 4;

const std::vector<std::string> learning{
    "optimizer.name=adamw",       "optimizer.learning_rate=1e-3",  "optimizer.schedule=warmup_cosine_decay",
    "optimizer.warmup_steps=2",   "optimizer.decay_steps=6",       "optimizer.clip_by_global_norm=0.5",
    "optimizer.weight_decay=0.5", "optimizer.decay_mask=**/kernel"};

RunConfig config_of(int data, int model, bool sharded_state) {
  std::vector<std::string> settings = small_size();
  for (const std::string& more : learning) settings.push_back(more);
  for (const std::string& more : mesh_overrides(data, model)) settings.push_back(more);
  RunConfig config = load_preset("parallax_decoder", settings);
  if (sharded_state) {
    config.sharding.parameters.clear();
    config.sharding.rules = {{"**", LargestDimension{{"data"}, 0}, {SpecKind::optimizer_state}}};
  }
  return config;
}

const ThreadTraining& serial() {
  static const ThreadTraining alone = train_in_threads(compile({config_of(1, 1, false), reference_host()}), steps);
  return alone;
}

int64_t scalar_sums(const Plan& plan) {
  return std::ranges::count_if(plan.instructions(), [&](const Instruction& instruction) {
    return is_collective(instruction.kind()) && plan.graph->ops[instruction.op].definition->name() == "global_norm";
  });
}

}  // namespace

// Schedules, clipping by the norm of all gradients together, and masked weight decay under law 1.
class ClippingTest : public QObject {
  Q_OBJECT

 private slots:
  void every_mesh_and_mode_trains_as_one_device_data() {
    QTest::addColumn<int>("data");
    QTest::addColumn<int>("model");
    QTest::addColumn<bool>("as_written");
    QTest::addColumn<bool>("sharded_state");
    for (const MeshSize& mesh : all_meshes()) {
      for (const bool as_written : {false, true}) {
        for (const bool sharded_state : {false, true}) {
          const QString name =
              QString("%1x%2 %3%4").arg(mesh.data).arg(mesh.model).arg(as_written ? "as written" : "fastest");
          QTest::newRow(qPrintable(name.arg(sharded_state ? ", state split over data" : "")))
              << mesh.data << mesh.model << as_written << sharded_state;
        }
      }
    }
  }
  void every_mesh_and_mode_trains_as_one_device() {
    QFETCH(int, data);
    QFETCH(int, model);
    QFETCH(bool, as_written);
    QFETCH(bool, sharded_state);
    RunConfig config = config_of(data, model, sharded_state);
    config.sharding.mode = as_written ? LayoutMode::as_written : LayoutMode::fastest;
    const Plan plan = compile({config, reference_host()});
    const std::string fault = test::fault_of(plan);
    QVERIFY2(fault.empty(), fault.c_str());
    const ThreadTraining training = train_in_threads(plan, steps);
    compare_with_serial(training, serial(), 1e-3,
                        [](const std::string& name, size_t, size_t) { return name.ends_with("/key/bias"); });
    for (const RankMeasurement& rank : training.ranks) {
      QCOMPARE(rank.arena_bytes, plan.arenas[0].bytes);
      QCOMPARE(rank.wire_bytes, plan.totals.wire_bytes_per_device);
    }
    // Sums that are partial over the same axes are finished together.
    QVERIFY2(scalar_sums(plan) <= 3, qPrintable(QString::number(scalar_sums(plan))));
  }

  void split_gradients_need_a_collective_for_their_norm() {
    QVERIFY(scalar_sums(compile({config_of(2, 2, false), reference_host()})) >= 1);
    QCOMPARE(scalar_sums(compile({config_of(1, 1, false), reference_host()})), int64_t{0});
  }

  void clipping_to_a_norm_that_no_gradient_has_changes_no_bit() {
    const auto trained = [](const char* norm) {
      RunConfig config = load_preset("parallax_decoder", small_size());
      for (MeshAxis& axis : config.mesh_axes) axis.size = 1;
      return train_in_threads(compile({with_settings(config, {std::string("optimizer.clip_by_global_norm=") + norm}),
                                       reference_host()}),
                              3)
          .parameters;
    };
    QVERIFY(trained("0") == trained("1e6"));
    QVERIFY(trained("0") != trained("0.5"));
  }

  void the_learning_rate_of_a_schedule_is_a_metric_of_each_step() {
    for (const auto& [step, rate] : std::vector<std::pair<size_t, double>>{{0, 0}, {1, 5e-4}, {2, 1e-3}}) {
      QCOMPARE(value_of(serial().steps[step].metrics, "learning_rate"), rate);
    }
  }
};

REGISTER_TEST(ClippingTest)

}  // namespace clipping_test

#include "clipping_test.moc"
