#include <QtTest>

#include "engine/machine/host_machine.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace system_presets_test {

using namespace shardscope;
using namespace shardscope::test;

class SystemPresetsTest : public QObject {
  Q_OBJECT

 private slots:
  void every_mesh_and_mode_trains_as_one_device_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<QList<qint64>>("sizes");
    QTest::addColumn<bool>("as_written");
    for (size_t i = 0; i < system_presets().size(); ++i) {
      const SystemPreset& preset = system_presets()[i];
      for (const std::vector<int64_t>& mesh : meshes_of(preset.mesh_axes)) {
        for (LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
          QTest::newRow(text_of(preset.name, mesh, mode).c_str())
              << static_cast<int>(i) << QList<qint64>(mesh.begin(), mesh.end()) << (mode == LayoutMode::as_written);
        }
      }
    }
  }
  void every_mesh_and_mode_trains_as_one_device() {
    QFETCH(int, index);
    QFETCH(QList<qint64>, sizes);
    QFETCH(bool, as_written);
    const SystemPreset& preset = system_presets()[static_cast<size_t>(index)];
    RunConfig config = system_run(preset.name, preset.small, {sizes.begin(), sizes.end()});
    config.sharding.mode = as_written ? LayoutMode::as_written : LayoutMode::fastest;
    const Plan plan = compile({config, reference_host()});
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, serial_training(preset), 1e-3, is_key_bias);
    compare_with_prediction(training, plan);
  }
};

REGISTER_TEST(SystemPresetsTest)

}  // namespace system_presets_test

#include "system_presets_test.moc"
