#include <QtTest>
#include <cmath>

#include "engine/machine/host_machine.h"
#include "engine/mesh/partition_spec.h"
#include "tests/laws/preset_case.h"
#include "tests/laws/training_agreement.h"
#include "tests/test_program.h"

namespace parallel_equals_serial_test {

using namespace shardscope;

namespace {

constexpr int64_t steps = 3;

std::string label(const MeshSize& mesh, const std::string& rest) {
  return std::to_string(mesh.data) + "x" + std::to_string(mesh.model) + " " + rest;
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Plan plan_of(const std::string& preset, const std::vector<std::string>& overrides) {
  return compile({load_preset(preset, joined(small_size(), overrides)), reference_host()});
}

const ThreadTraining& serial(const std::string& preset, const std::string& deterministic) {
  static std::map<std::string, ThreadTraining> cache;
  auto [entry, added] = cache.try_emplace(preset + deterministic);
  if (added) entry->second = train_in_threads(plan_of(preset, joined(mesh_overrides(1, 1), {deterministic})), steps);
  return entry->second;
}

// The gradient of a key's bias is zero but for rounding.
void compare_with_serial(const ThreadTraining& parallel, const ThreadTraining& alone, double learning_rate) {
  shardscope::compare_with_serial(parallel, alone, learning_rate,
                                  [](const std::string& name, size_t, size_t) { return name.ends_with("/key/bias"); });
}

}  // namespace

class ParallelEqualsSerialTest : public QObject {
  Q_OBJECT

 private slots:
  void every_mesh_and_mode_trains_as_one_device_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<int>("data");
    QTest::addColumn<int>("model");
    QTest::addColumn<QString>("mode");
    QTest::addColumn<QString>("deterministic");
    for (const char* preset : {"parallax_decoder", "parallax_decoder_2"}) {
      for (const char* mode : {"fastest", "as_written"}) {
        for (const MeshSize& mesh : all_meshes()) {
          for (const char* deterministic : {"deterministic=true", "deterministic=false"}) {
            QTest::newRow(label(mesh, std::string(preset) + " " + mode + " " + deterministic).c_str())
                << preset << mesh.data << mesh.model << mode << deterministic;
          }
        }
      }
    }
  }
  void every_mesh_and_mode_trains_as_one_device() {
    QFETCH(QString, preset);
    QFETCH(int, data);
    QFETCH(int, model);
    QFETCH(QString, mode);
    QFETCH(QString, deterministic);
    std::string name = preset.toStdString();
    Plan plan = plan_of(name, joined(mesh_overrides(data, model),
                                     {"sharding.mode=" + mode.toStdString(), deterministic.toStdString()}));
    ThreadTraining training = train_in_threads(plan, steps);
    compare_with_serial(training, serial(name, deterministic.toStdString()), 1e-3);
    compare_with_prediction(training, plan);
  }

  // ZeRO stage 1: each device keeps and updates its part of the state, and the new parameters are gathered.
  void optimizer_state_may_lie_otherwise_than_its_parameter_data() {
    QTest::addColumn<int>("data");
    QTest::addColumn<int>("model");
    QTest::addColumn<QString>("mode");
    for (const MeshSize& mesh : {MeshSize{8, 1}, MeshSize{4, 2}, MeshSize{2, 2}}) {
      for (const char* mode : {"fastest", "as_written"})
        QTest::newRow(label(mesh, mode).c_str()) << mesh.data << mesh.model << mode;
    }
  }
  void optimizer_state_may_lie_otherwise_than_its_parameter() {
    QFETCH(int, data);
    QFETCH(int, model);
    QFETCH(QString, mode);
    RunConfig config = load_preset("parallax_decoder", joined(small_size(), mesh_overrides(data, model)));
    config.sharding.mode = mode == "fastest" ? LayoutMode::fastest : LayoutMode::as_written;
    config.sharding.parameters.clear();
    config.sharding.rules = {{"**", LargestDimension{{"data"}, 0}, {SpecKind::optimizer_state}}};
    const Plan plan = compile({config, reference_host()});
    const ThreadTraining training = train_in_threads(plan, steps);
    compare_with_serial(training, serial("parallax_decoder", "deterministic=true"), 1e-3);
    int64_t whole = 0;
    for (const ParameterPlan& parameter : plan.parameters) whole += element_count(parameter.shape) * 4;
    for (const RankMeasurement& rank : training.ranks) {
      QCOMPARE(rank.arena_bytes, plan.arenas[0].bytes);
      QCOMPARE(rank.wire_bytes, plan.totals.wire_bytes_per_device);
      QCOMPARE(rank.parameter_bytes, whole);
      QCOMPARE(rank.optimizer_bytes, 2 * whole / data);
    }
  }

  void dropout_changes_the_loss() {
    double with = value_of(serial("parallax_decoder", "deterministic=false").steps[0].metrics, "loss");
    double without = value_of(serial("parallax_decoder", "deterministic=true").steps[0].metrics, "loss");
    QVERIFY(std::abs(with - without) > 1e-3);
  }

  // Random legal specs for every parameter, the inputs and the output, on a mesh of three axes.
  void random_specs_train_as_one_device_data() {
    QTest::addColumn<int>("seed");
    QTest::addColumn<QString>("mode");
    for (int seed = 0; seed < 12; ++seed) {
      for (const char* mode : {"fastest", "as_written"})
        QTest::newRow(qPrintable(QString("%1 %2").arg(mode).arg(seed))) << seed << mode;
    }
  }
  void random_specs_train_as_one_device() {
    QFETCH(int, seed);
    QFETCH(QString, mode);
    std::mt19937 random(static_cast<unsigned>(seed) + 100);
    RunConfig config = load_preset("parallax_decoder", small_size());
    config.mesh_axes = {{"a", 2}, {"b", 2}, {"c", 2}};
    config.sharding = {};
    config.sharding.mode = mode == "fastest" ? LayoutMode::fastest : LayoutMode::as_written;
    auto random_spec = [&](size_t rank) {
      PartitionSpec spec;
      spec.dims.resize(rank);
      std::vector<std::string> axes{"a", "b", "c"};
      std::shuffle(axes.begin(), axes.end(), random);
      for (const std::string& axis : axes) {
        size_t dim = random() % (rank + 1);
        if (dim < rank) spec.dims[dim].push_back(axis);
      }
      return spec;
    };
    Mesh mesh(config.mesh_axes);
    auto legal_spec = [&](const Shape& shape) {
      PartitionSpec spec;
      do spec = random_spec(shape.size());
      while (!check(spec, mesh, shape, "").empty());
      return spec;
    };
    config.sharding.in = legal_spec({16, 16});
    config.sharding.out = legal_spec({16, 16, 64});
    for (const ParameterInfo& parameter : list_parameters(config)) {
      config.sharding.parameters.push_back({parameter.path, legal_spec(parameter.type.shape)});
    }
    std::vector<int> devices{0, 1, 2, 3, 4, 5, 6, 7};
    if (seed % 2) std::shuffle(devices.begin(), devices.end(), random);
    config.mesh_devices = devices;
    Plan plan = compile({config, reference_host()});
    ThreadTraining training = train_in_threads(plan, steps);
    compare_with_serial(training, serial("parallax_decoder", "deterministic=true"), 1e-3);
    compare_with_prediction(training, plan);
  }
};

REGISTER_TEST(ParallelEqualsSerialTest)

}  // namespace parallel_equals_serial_test

#include "parallel_equals_serial_test.moc"
