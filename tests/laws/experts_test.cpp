#include <QtTest>

#include <algorithm>

#include "engine/graph/op_definition.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace experts_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// Tokens are split over data and expert, experts over expert, the layers inside over model.
RunConfig run_of(const std::string& preset, const std::vector<int64_t>& mesh, LayoutMode mode,
                 const std::vector<std::string>& settings = {}) {
  std::vector<std::string> small = system_preset(preset).small;
  small.insert(small.end(), settings.begin(), settings.end());
  RunConfig config = system_run(preset, small);
  config.mesh_axes = {{"data", mesh[0]}, {"expert", mesh[1]}, {"model", mesh[2]}};
  config.sharding = {};
  config.sharding.mode = mode;
  config.sharding.in = config.sharding.out = PartitionSpec{{{"data", "expert"}, {}}};
  config.sharding.rules = {rule_for_experts()};
  return config;
}

const std::vector<std::string>& presets_with_experts() {
  static const std::vector<std::string> presets{"mixtral_tiny", "deepseek_v3_tiny", "gpt_oss_tiny"};
  return presets;
}

// Exchanges of counted rows over an axis in a phase.
int exchanges(const Plan& plan, AxisIndex axis, Phase phase) {
  return static_cast<int>(std::ranges::count_if(plan.instructions(), [&](const Instruction& instruction) {
    const CollectiveStart* start = instruction.as<CollectiveStart>();
    return start && start->counted && start->axes.contains(axis) && instruction.phase == phase;
  }));
}

int gathers_of_kernels(const Plan& plan, AxisIndex axis) {
  return static_cast<int>(std::ranges::count_if(plan.instructions(), [&](const Instruction& instruction) {
    if (instruction.kind() != InstructionKind::all_gather || !instruction.axes().contains(axis)) return false;
    const ProgramValue& moved = plan.program.values[instruction.operands()[0]];
    return plan.graph->values[moved.graph_value].name.find("_proj") != std::string::npos;
  }));
}

}  // namespace

class ExpertsTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 1, where no token is dropped.
  void every_mesh_trains_as_one_device_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QList<qint64>>("sizes");
    QTest::addColumn<bool>("as_written");
    for (const std::string& preset : presets_with_experts()) {
      for (const std::vector<int64_t>& mesh : meshes_of(3)) {
        if (mesh[1] == 1 || mesh[1] > 4) continue;
        for (LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
          QTest::newRow(text_of(preset, mesh, mode).c_str())
              << QString::fromStdString(preset) << QList<qint64>(mesh.begin(), mesh.end())
              << (mode == LayoutMode::as_written);
        }
      }
    }
  }
  void every_mesh_trains_as_one_device() {
    QFETCH(QString, preset);
    QFETCH(QList<qint64>, sizes);
    QFETCH(bool, as_written);
    const std::string name = preset.toStdString();
    const LayoutMode mode = as_written ? LayoutMode::as_written : LayoutMode::fastest;
    const Plan plan = compile({run_of(name, {sizes.begin(), sizes.end()}, mode), reference_host()});
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, serial_training(system_preset(name)), 1e-3, is_key_bias);
    compare_with_prediction(training, plan);
  }

  void tokens_travel_and_kernels_of_experts_stay() {
    for (const std::string& preset : presets_with_experts()) {
      for (LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
        const Plan plan = compile({run_of(preset, {2, 2, 1}, mode), reference_host()});
        const AxisIndex expert = *plan.mesh.find_axis("expert");
        const auto layers = std::ranges::count_if(plan.graph->ops, [](const Op& op) {
          return op.definition->name() == "dispatch" && op.phase == Phase::forward;
        });
        QVERIFY(layers > 0);
        for (Phase phase : {Phase::forward, Phase::backward}) {
          QCOMPARE(exchanges(plan, expert, phase), static_cast<int>(2 * layers));
        }
        QCOMPARE(gathers_of_kernels(plan, expert), 0);
      }
    }
  }

  void a_capacity_bounds_memory() {
    const Plan bounded = compile(
        {run_of("mixtral_tiny", {1, 4, 1}, LayoutMode::as_written, {"model.capacity_factor=1"}), reference_host()});
    const Plan open = compile({run_of("mixtral_tiny", {1, 4, 1}, LayoutMode::as_written), reference_host()});
    QVERIFY(bounded.arenas[0].bytes < open.arenas[0].bytes);
    QVERIFY(bounded.totals.wire_bytes_per_device < open.totals.wire_bytes_per_device);
    const ThreadTraining training = train_in_threads(bounded, serial_steps);
    compare_with_prediction(training, bounded);
    QVERIFY(training.replicas_equal);
  }
};

REGISTER_TEST(ExpertsTest)

}  // namespace experts_test

#include "experts_test.moc"
