#include <QtTest>

#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace rematerialisation_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

RunConfig config_of(const SystemPreset& preset, const std::vector<int64_t>& mesh, LayoutMode mode,
                    const ScheduleConfig& schedule) {
  RunConfig config = system_run(preset.name, preset.small, mesh);
  config.sharding.mode = mode;
  config.schedule = schedule;
  return config;
}

struct Case {
  const SystemPreset* preset;
  std::vector<int64_t> mesh;
  LayoutMode mode;
  ScheduleConfig schedule;
};

std::vector<Case> cases() {
  const char* policies[] = {"full", "attention", "mlp", "**"};
  std::vector<Case> list;
  size_t turn = 0;
  for (const SystemPreset& preset : system_presets()) {
    for (const std::vector<int64_t>& mesh : meshes_of(preset.mesh_axes)) {
      const LayoutMode mode = turn % 3 == 0 ? LayoutMode::fastest : LayoutMode::as_written;
      const ScheduleConfig schedule{turn % 5 < 2 ? 2 : 1, policies[turn % 4], turn % 8 == 0 ? 2 : 1};
      ++turn;
      if (validate(config_of(preset, mesh, mode, schedule)).empty()) list.push_back({&preset, mesh, mode, schedule});
    }
  }
  return list;
}

Plan deep(const ScheduleConfig& schedule) {
  RunConfig config = system_run("tiny_lm_dp", {"model.n_layers=12"}, {1});
  config.sharding.mode = LayoutMode::as_written;
  config.schedule = schedule;
  return compile(config, DeviceProfile{});
}

int64_t activations(const Plan& plan) { return plan.totals.memory[static_cast<size_t>(MemoryCategory::activations)]; }

}  // namespace

class RematerialisationTest : public QObject {
  Q_OBJECT

 private slots:
  void what_is_made_again_trains_as_what_is_kept_data() {
    QTest::addColumn<int>("index");
    const std::vector<Case> list = cases();
    QVERIFY(list.size() > 50);
    for (size_t i = 0; i < list.size(); ++i) {
      const auto& [preset, mesh, mode, schedule] = list[i];
      QTest::newRow((text_of(preset->name, mesh, mode) + " " + schedule.rematerialise + " in " +
                     std::to_string(schedule.microbatches))
                        .c_str())
          << static_cast<int>(i);
    }
  }
  void what_is_made_again_trains_as_what_is_kept() {
    QFETCH(int, index);
    const auto [preset, mesh, mode, schedule] = cases()[static_cast<size_t>(index)];
    const Plan plan = compile(config_of(*preset, mesh, mode, schedule), DeviceProfile{});
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, serial_training(*preset), 1e-3, is_key_bias);
    compare_with_prediction(training, plan);
  }

  void on_one_device_losses_are_bit_for_bit_those_of_what_is_kept() {
    for (const char* policy : {"full", "attention", "mlp"}) {
      for (const char* name : {"tiny_lm_dp", "nnx_gpt2", "mintext_transformer"}) {
        SystemPreset preset = system_preset(name);
        if (preset.name == "nnx_gpt2") {
          preset.small.insert(preset.small.end(), {"deterministic=false", "model.dropout_rate=0.3"});
        }
        const std::vector<int64_t> alone(static_cast<size_t>(preset.mesh_axes), 1);
        const auto losses = [&](const ScheduleConfig& schedule) {
          const RunConfig config = config_of(preset, alone, LayoutMode::as_written, schedule);
          return losses_of(train_in_threads(compile(config, DeviceProfile{}), serial_steps));
        };
        QCOMPARE(losses({1, policy, 1}), losses({}));
      }
    }
  }

  void making_again_is_the_fourth_phase_of_what_a_rank_measures() {
    for (const bool again : {false, true}) {
      const Plan plan = deep(again ? ScheduleConfig{1, "full", 1} : ScheduleConfig{});
      const ThreadTraining training = train_in_threads(plan, 1);
      const auto recompute = static_cast<size_t>(Phase::recompute);
      QCOMPARE(recompute, size_t{3});
      QCOMPARE(training.ranks[0].busy_ms[recompute] > 0, again);
      QVERIFY(training.ranks[0].busy_ms[static_cast<size_t>(Phase::forward)] > 0);
    }
  }

  // T. Chen et al., 2016: of n layers only what each hands on is kept, and one is made again at a time.
  void full_keeps_what_layers_hand_on_and_one_layer() {
    const Plan kept = deep({}), full = deep({1, "full", 1});
    QVERIFY(activations(full) < activations(kept) / 4);
    QVERIFY(full.totals.flops_per_device > kept.totals.flops_per_device * 1.2);
    QVERIFY(full.totals.flops_per_device < kept.totals.flops_per_device * 4 / 3);
    QVERIFY(activations(deep({1, "attention", 1})) < activations(kept));
    QVERIFY(activations(deep({1, "mlp", 1})) < activations(kept));
  }

  void a_policy_that_means_nothing_of_the_model_is_a_located_error() {
    const auto error = [](const std::string& name, const std::string& policy) {
      const SystemPreset& preset = system_preset(name);
      const std::vector<int64_t> alone(static_cast<size_t>(preset.mesh_axes), 1);
      const std::vector<Error> errors =
          validate(config_of(preset, alone, LayoutMode::as_written, ScheduleConfig{1, policy, 1}));
      return errors.size() == 1 && to_string(errors[0].place) == "schedule.rematerialise" ? errors[0] : Error{};
    };
    QVERIFY(error("mintext_mlp", "full").message.find("no layers") != std::string::npos);
    QVERIFY(error("tiny_lm_dp", "ful").hint.find("'full'") != std::string::npos);
    QVERIFY(error("tiny_lm_dp", "**/gulu").hint.find("gelu") != std::string::npos);
  }
};

REGISTER_TEST(RematerialisationTest)

}  // namespace rematerialisation_test

#include "rematerialisation_test.moc"
