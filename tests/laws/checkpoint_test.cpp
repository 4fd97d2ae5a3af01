#include <QTemporaryDir>
#include <QtTest>
#include <bit>
#include <cstring>
#include <map>

#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/compile/document_of.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/laws/training_agreement.h"
#include "tests/test_program.h"

namespace checkpoint_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

using Arrays = std::map<std::string, std::vector<float>>;

Plan plan_of(const SystemPreset& preset, const std::vector<int64_t>& mesh, LayoutMode mode = LayoutMode::fastest) {
  RunConfig config = system_run(preset.name, preset.small, mesh);
  config.sharding.mode = mode;
  return compile({config, reference_host()});
}

bool same_bits(const Arrays& a, const Arrays& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second.size() != values.size()) return false;
    if (std::memcmp(other->second.data(), values.data(), values.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

CheckpointOptions into(const std::string& folder, int64_t save_every = 0) {
  CheckpointOptions options;
  options.folder = folder;
  options.save_every = save_every;
  return options;
}

CheckpointOptions from(const std::string& path) {
  CheckpointOptions options;
  options.resume = path;
  return options;
}

ThreadTraining train_with(const Plan& plan, int64_t steps, const CheckpointOptions& checkpoints) {
  return train_in_threads(plan, steps, {}, {}, {}, checkpoints);
}

// One that splits what it can, for presets of any number of axes.
std::vector<int64_t> split_mesh(const SystemPreset& preset) {
  if (preset.mesh_axes == 1) return {4};
  std::vector<int64_t> mesh(static_cast<size_t>(preset.mesh_axes), 1);
  mesh[0] = mesh[1] = 2;
  return mesh;
}

}  // namespace

// Law 6.
// Metrics that are not evaluated in every step are no numbers, which are not equal to themselves.
std::string metrics_of(const StepMessage& step) {
  std::string text;
  for (const MetricValue& metric : step.metrics)
    text += metric.name + " " + std::to_string(std::bit_cast<uint64_t>(metric.value)) + "\n";
  return text;
}

class CheckpointTest : public QObject {
  Q_OBJECT

 private slots:
  void what_one_mesh_saves_any_other_loads_bit_for_bit_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<QList<qint64>>("sizes");
    for (size_t i = 0; i < system_presets().size(); ++i) {
      const SystemPreset& preset = system_presets()[i];
      std::vector<std::vector<int64_t>> writers{split_mesh(preset)};
      if (preset.name == "nnx_gpt2" || preset.name == "tiny_lm_fsdp") {
        writers.push_back(meshes_of(preset.mesh_axes).front());
        writers.push_back(meshes_of(preset.mesh_axes).back());
      }
      for (const std::vector<int64_t>& mesh : writers) {
        QTest::newRow(text_of(preset.name, mesh, LayoutMode::fastest).c_str())
            << static_cast<int>(i) << QList<qint64>(mesh.begin(), mesh.end());
      }
    }
  }
  void what_one_mesh_saves_any_other_loads_bit_for_bit() {
    QFETCH(int, index);
    QFETCH(QList<qint64>, sizes);
    const SystemPreset& preset = system_presets()[static_cast<size_t>(index)];
    QTemporaryDir folder;
    const std::string path = folder.path().toStdString();
    const ThreadTraining saved = train_with(plan_of(preset, {sizes.begin(), sizes.end()}), 2, into(path));
    CheckpointReader(path + "/step_000002").verify();
    std::vector<std::vector<int64_t>> readers = meshes_of(preset.mesh_axes);
    if (preset.mesh_axes == 3) readers = {{1, 1, 1}, {8, 1, 1}, {1, 2, 4}, {2, 2, 2}, {4, 1, 2}};
    for (const std::vector<int64_t>& mesh : readers) {
      for (LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
        if (mode == LayoutMode::as_written && mesh != readers.back()) continue;
        const ThreadTraining loaded = train_with(plan_of(preset, mesh, mode), 2, from(path));
        const std::string what = text_of(preset.name, mesh, mode);
        QVERIFY2(loaded.steps.empty() && loaded.replicas_equal, what.c_str());
        QVERIFY2(same_bits(loaded.parameters, saved.parameters), what.c_str());
        QVERIFY2(same_bits(loaded.optimizer, saved.optimizer), what.c_str());
      }
    }
  }

  void a_resumed_run_is_the_uninterrupted_one_bit_for_bit_data() {
    QTest::addColumn<int>("index");
    for (size_t i = 0; i < system_presets().size(); ++i) {
      QTest::newRow(system_presets()[i].name.c_str()) << static_cast<int>(i);
    }
  }
  void a_resumed_run_is_the_uninterrupted_one_bit_for_bit() {
    QFETCH(int, index);
    const SystemPreset& preset = system_presets()[static_cast<size_t>(index)];
    const Plan plan = plan_of(preset, split_mesh(preset));
    QCOMPARE(document_of(plan).deterministic, preset.name != "nnx_gpt2" && preset.name != "tiny_text");  // these drop
    QTemporaryDir folder;
    const std::string path = folder.path().toStdString();
    const ThreadTraining whole = train_in_threads(plan, 6);
    const ThreadTraining watched = train_with(plan, 3, into(path, 2));  // saves after steps 2 and 3
    QVERIFY(same_bits(watched.parameters, train_in_threads(plan, 3).parameters));
    for (int64_t begun : {2, 3}) {
      const ThreadTraining rest = train_with(plan, 6, from(path + "/" + step_folder_name(begun)));
      QCOMPARE(rest.steps.size(), static_cast<size_t>(6 - begun));
      for (const StepMessage& step : rest.steps) {
        const StepMessage& same = whole.steps[static_cast<size_t>(step.step)];
        QCOMPARE(step.step, same.step);
        QCOMPARE(metrics_of(step), metrics_of(same));
      }
      QVERIFY(same_bits(rest.parameters, whole.parameters));
      QVERIFY(same_bits(rest.optimizer, whole.optimizer));
    }
  }

  // Law 1, across meshes: what one mesh has begun another ends.
  void a_run_that_changes_its_mesh_trains_as_one_device() {
    for (const char* name : {"tiny_lm_fsdp", "mintext_mlp"}) {
      const SystemPreset& preset = system_preset(name);
      const Plan one = plan_of(preset, meshes_of(preset.mesh_axes).front());
      const ThreadTraining alone = train_in_threads(one, 4);
      QTemporaryDir folder;
      const std::string path = folder.path().toStdString();
      train_with(plan_of(preset, split_mesh(preset)), 1, into(path));
      CheckpointOptions options = into(path);
      options.resume = path;
      train_with(plan_of(preset, meshes_of(preset.mesh_axes).back()), 3, options);
      ThreadTraining end = train_with(one, 4, from(path));
      QCOMPARE(end.steps.size(), size_t{1});
      QCOMPARE(end.steps[0].step, int64_t{3});
      end.steps = {alone.steps[0], alone.steps[1], alone.steps[2], end.steps[0]};
      const auto is_key_bias = [](const std::string& path, size_t, size_t) { return path.ends_with("/key/bias"); };
      compare_with_serial(end, alone, 1e-3, is_key_bias);
    }
  }
};

REGISTER_TEST(CheckpointTest)

}  // namespace checkpoint_test

#include "checkpoint_test.moc"
