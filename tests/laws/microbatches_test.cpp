#include <QtTest>

#include "engine/machine/host_machine.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace microbatches_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

RunConfig in_microbatches(const SystemPreset& preset, const std::vector<int64_t>& mesh, LayoutMode mode,
                          int64_t microbatches) {
  RunConfig config = system_run(preset.name, preset.small, mesh);
  config.sharding.mode = mode;
  config.schedule.microbatches = microbatches;
  return config;
}

struct Case {
  const SystemPreset* preset;
  std::vector<int64_t> mesh;
  LayoutMode mode;
  int64_t microbatches;
};

// Every preset on every mesh, in turns in either mode and with 2, 4 and 8 microbatches.
std::vector<Case> cases() {
  std::vector<Case> list;
  size_t turn = 0;
  for (const SystemPreset& preset : system_presets()) {
    for (const std::vector<int64_t>& mesh : meshes_of(preset.mesh_axes)) {
      const LayoutMode mode = turn % 2 == 0 ? LayoutMode::fastest : LayoutMode::as_written;
      const int64_t microbatches = int64_t{2} << turn / 2 % 3;
      ++turn;
      const bool divides = validate(in_microbatches(preset, mesh, mode, microbatches)).empty();
      if (divides) list.push_back({&preset, mesh, mode, microbatches});
    }
  }
  return list;
}

}  // namespace

class MicrobatchesTest : public QObject {
  Q_OBJECT

 private slots:
  void microbatches_train_as_the_whole_batch_on_one_device_data() {
    QTest::addColumn<int>("index");
    const std::vector<Case> list = cases();
    QVERIFY(list.size() > 80);
    for (size_t i = 0; i < list.size(); ++i) {
      const auto& [preset, mesh, mode, microbatches] = list[i];
      QTest::newRow((text_of(preset->name, mesh, mode) + " in " + std::to_string(microbatches)).c_str())
          << static_cast<int>(i);
    }
  }
  void microbatches_train_as_the_whole_batch_on_one_device() {
    QFETCH(int, index);
    static const std::vector<Case> list = cases();
    const auto& [preset, mesh, mode, microbatches] = list[static_cast<size_t>(index)];
    const Plan plan = compile({in_microbatches(*preset, mesh, mode, microbatches), reference_host()});
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, serial_training(*preset), 1e-3, is_key_bias);
    compare_with_prediction(training, plan);
  }

  void dropout_is_that_of_the_whole_batch() {
    const std::vector<std::string> dropout{"deterministic=false", "model.dropout_rate=0.5"};
    SystemPreset dropped = system_preset("nnx_gpt2");
    dropped.small.insert(dropped.small.end(), dropout.begin(), dropout.end());
    const auto losses = [&](std::vector<int64_t> mesh, int64_t microbatches) {
      const RunConfig config = in_microbatches(dropped, mesh, LayoutMode::fastest, microbatches);
      return losses_of(train_in_threads(compile({config, reference_host()}), serial_steps));
    };
    const std::vector<double> expected = losses({1, 1}, 1);
    for (int64_t microbatches : {2, 4}) {
      const std::vector<double> found = losses({2, 2}, microbatches);
      for (size_t s = 0; s < expected.size(); ++s) QVERIFY(std::abs(found[s] - expected[s]) < 1e-5 * expected[s]);
    }
  }

  // A gradient that is a partial sum over the data axis is reduced once a step, not once a microbatch.
  void gradients_of_replicated_parameters_are_reduced_once_a_step() {
    const SystemPreset& preset = system_preset("tiny_lm_dp");
    const auto wire = [&](int64_t microbatches) {
      return compile({in_microbatches(preset, {2}, LayoutMode::as_written, microbatches), reference_host()})
          .totals.wire_bytes_per_device;
    };
    QCOMPARE(wire(4), wire(1));
  }

  void fastest_is_never_slower_than_as_written() {
    for (const SystemPreset& preset : system_presets()) {
      for (const std::vector<int64_t>& mesh : meshes_of(preset.mesh_axes)) {
        const auto seconds = [&](LayoutMode mode) {
          return compile({in_microbatches(preset, mesh, mode, 2), reference_host()}).totals.seconds_per_step;
        };
        if (!validate(in_microbatches(preset, mesh, LayoutMode::fastest, 2)).empty()) continue;
        QVERIFY(seconds(LayoutMode::fastest) <= seconds(LayoutMode::as_written));
      }
    }
  }

  void activations_take_the_room_of_one_microbatch() {
    const SystemPreset& preset = system_preset("tiny_lm_dp");
    const auto activations = [&](int64_t microbatches) {
      const Plan plan = compile({in_microbatches(preset, {1}, LayoutMode::as_written, microbatches), reference_host()});
      return plan.totals.memory[static_cast<size_t>(MemoryCategory::activations)];
    };
    QVERIFY(activations(8) < activations(1) / 4);
  }

  void microbatches_that_do_not_divide_the_batch_are_a_located_error() {
    const SystemPreset& preset = system_presets()[0];
    const std::vector<Error> errors = validate(in_microbatches(preset, {1}, LayoutMode::fastest, 3));
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(errors[0].code, std::string("microbatches"));
    QVERIFY(to_string(errors[0]).find("it may be 1, 2, 4, 8, 16") != std::string::npos);
  }
};

REGISTER_TEST(MicrobatchesTest)

}  // namespace microbatches_test

#include "microbatches_test.moc"
