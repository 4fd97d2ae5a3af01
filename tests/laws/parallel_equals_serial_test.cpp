#include <QtTest>
#include <cmath>

#include "engine/mesh/partition_spec.h"
#include "engine/worker/thread_training.h"
#include "tests/laws/preset_case.h"

using namespace shardscope;

namespace {

constexpr int64_t steps = 3;

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

std::string label(const MeshSize& mesh, const std::string& rest) {
  return std::to_string(mesh.data) + "x" + std::to_string(mesh.model) + " " + rest;
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Plan plan_of(const std::string& preset, const std::vector<std::string>& overrides) {
  return compile(load_preset(preset, joined(small_size(), overrides)), DeviceProfile{});
}

const ThreadTraining& serial(const std::string& preset, const std::string& deterministic) {
  static std::map<std::string, ThreadTraining> cache;
  auto [entry, added] = cache.try_emplace(preset + deterministic);
  if (added) entry->second = train_in_threads(plan_of(preset, joined(mesh_overrides(1, 1), {deterministic})), steps);
  return entry->second;
}

void compare_with_serial(const ThreadTraining& parallel, const ThreadTraining& alone, double learning_rate) {
  QCOMPARE(parallel.steps.size(), alone.steps.size());
  for (size_t s = 0; s < alone.steps.size(); ++s) {
    double expected = value_of(alone.steps[s].metrics, "loss"), got = value_of(parallel.steps[s].metrics, "loss");
    QVERIFY2(std::abs(got - expected) <= 1e-5 * std::abs(expected),
             qPrintable(QString("step %1: loss %2 instead of %3").arg(s).arg(got, 0, 'g', 9).arg(expected, 0, 'g', 9)));
  }
  for (const auto& [name, values] : alone.parameters) {
    const std::vector<float>& others = parallel.parameters.at(name);
    QCOMPARE(others.size(), values.size());
    // The gradient of a key's bias, and of no other parameter, is zero but for rounding, which Adam turns into steps of
    // either sign, of the learning rate at most.
    bool key_bias = name.ends_with("/key/bias");
    std::vector<float> difference(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      difference[i] = others[i] - values[i];
      if (key_bias) QVERIFY2(std::abs(others[i]) < learning_rate * steps, name.c_str());
    }
    if (!key_bias) {
      QVERIFY2(norm(difference) <= 1e-4 * norm(values) + 1e-7,
               qPrintable(QString("%1: off by %2 of its norm").arg(name.c_str()).arg(norm(difference) / norm(values))));
    }
  }
  QVERIFY(parallel.replicas_equal);
}

// Law 5: measured independently of the plan.
void compare_with_prediction(const ThreadTraining& training, const Plan& plan) {
  int64_t parameter_bytes = 0;
  for (const ParameterPlan& parameter : plan.parameters) {
    Sharding sharding = to_sharding(parameter.spec, plan.mesh, static_cast<int>(parameter.shape.size()));
    parameter_bytes += element_count(local_shape(sharding, plan.mesh, parameter.shape)) * 4;
  }
  for (const RankUse& rank : training.ranks) {
    QCOMPARE(rank.arena_bytes, plan.arena.bytes);
    QCOMPARE(rank.wire_bytes, plan.totals.wire_bytes_per_device);
    QCOMPARE(rank.parameter_bytes, parameter_bytes);
    QCOMPARE(rank.optimizer_bytes, 2 * parameter_bytes);
  }
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
      for (const char* mode : {"cheapest", "as_written"}) {
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
      for (const char* mode : {"cheapest", "as_written"})
        QTest::newRow(label(mesh, mode).c_str()) << mesh.data << mesh.model << mode;
    }
  }
  void optimizer_state_may_lie_otherwise_than_its_parameter() {
    QFETCH(int, data);
    QFETCH(int, model);
    QFETCH(QString, mode);
    RunConfig config = load_preset("parallax_decoder", joined(small_size(), mesh_overrides(data, model)));
    config.sharding.mode = mode == "cheapest" ? LayoutMode::cheapest : LayoutMode::as_written;
    config.sharding.parameters.clear();
    config.sharding.rules = {{"**", LargestDimension{{"data"}, 0}, {SpecKind::optimizer_state}}};
    const Plan plan = compile(config, DeviceProfile{});
    const ThreadTraining training = train_in_threads(plan, steps);
    compare_with_serial(training, serial("parallax_decoder", "deterministic=true"), 1e-3);
    int64_t whole = 0;
    for (const ParameterPlan& parameter : plan.parameters) whole += element_count(parameter.shape) * 4;
    for (const RankUse& rank : training.ranks) {
      QCOMPARE(rank.arena_bytes, plan.arena.bytes);
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
      for (const char* mode : {"cheapest", "as_written"})
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
    config.sharding.mode = mode == "cheapest" ? LayoutMode::cheapest : LayoutMode::as_written;
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
    Plan plan = compile(config, DeviceProfile{});
    ThreadTraining training = train_in_threads(plan, steps);
    compare_with_serial(training, serial("parallax_decoder", "deterministic=true"), 1e-3);
    compare_with_prediction(training, plan);
  }
};

QTEST_APPLESS_MAIN(ParallelEqualsSerialTest)
#include "parallel_equals_serial_test.moc"
