#include <QtTest>

#include "engine/machine/host_machine.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace zero_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

Plan plan_of(const SystemPreset& preset, const std::vector<int64_t>& mesh, LayoutMode mode, int64_t stage,
             int64_t microbatches = 1, const std::string& axis = "") {
  RunConfig config = system_run(preset.name, preset.small, mesh);
  config.sharding.mode = mode;
  config.sharding.zero.stage = stage;
  if (!axis.empty()) config.sharding.zero.axes = {axis};
  config.schedule.microbatches = microbatches;
  return compile({config, reference_host()});
}

int64_t bytes(const Plan& plan, MemoryCategory category) { return plan.totals.memory[static_cast<size_t>(category)]; }

int64_t stored(const Plan& plan, MemoryCategory category) {
  int64_t sum = 0;
  for (const Buffer& buffer : plan.arenas[0].buffers)
    sum += buffer.persistent && buffer.category == category ? buffer.bytes : 0;
  return sum;
}

// Into how many parts each array of the optimizer's state of a parameter's shape is split.
std::vector<int64_t> parts_of_states(const Plan& plan, const ParameterPlan& parameter) {
  std::vector<int64_t> parts;
  for (int value : parameter.state_values)
    parts.push_back(element_count(parameter.shape) / element_count(plan.program.values[value].local_shape));
  return parts;
}

}  // namespace

class ZeroTest : public QObject {
  Q_OBJECT

 private slots:
  void every_stage_trains_as_one_device_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<QList<qint64>>("sizes");
    QTest::addColumn<int>("stage");
    QTest::addColumn<int>("microbatches");
    QTest::addColumn<bool>("as_written");
    size_t turn = 0;
    for (size_t i = 0; i < system_presets().size(); ++i) {
      const SystemPreset& preset = system_presets()[i];
      for (const std::vector<int64_t>& mesh : meshes_of(preset.mesh_axes)) {
        if (mesh[0] == 1) continue;
        ++turn;
        const int stage = 1 + static_cast<int>(turn % 3), microbatches = turn % 2 == 0 ? 1 : 2;
        RunConfig config = system_run(preset.name, preset.small, mesh);
        config.sharding.zero.stage = stage;
        config.schedule.microbatches = microbatches;
        if (!validate(config).empty()) continue;
        const LayoutMode mode = turn % 4 < 2 ? LayoutMode::as_written : LayoutMode::fastest;
        QTest::newRow((text_of(preset.name, mesh, mode) + " stage " + std::to_string(stage) + " in " +
                       std::to_string(microbatches))
                          .c_str())
            << static_cast<int>(i) << QList<qint64>(mesh.begin(), mesh.end()) << stage << microbatches
            << (mode == LayoutMode::as_written);
      }
    }
  }
  void every_stage_trains_as_one_device() {
    QFETCH(int, index);
    QFETCH(QList<qint64>, sizes);
    QFETCH(int, stage);
    QFETCH(int, microbatches);
    QFETCH(bool, as_written);
    const SystemPreset& preset = system_presets()[static_cast<size_t>(index)];
    const LayoutMode mode = as_written ? LayoutMode::as_written : LayoutMode::fastest;
    const Plan plan = plan_of(preset, {sizes.begin(), sizes.end()}, mode, stage, microbatches);
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, serial_training(preset), 1e-3, is_key_bias);
    for (const RankMeasurement& rank : training.ranks) {
      QCOMPARE(rank.arena_bytes, plan.arenas[0].bytes);
      QCOMPARE(rank.wire_bytes, plan.totals.wire_bytes_per_device);
      QCOMPARE(rank.parameter_bytes, stored(plan, MemoryCategory::parameters));
      QCOMPARE(rank.optimizer_bytes, stored(plan, MemoryCategory::optimizer));
    }
  }

  // Rajbhandari et al., section 7: stages 1 and 2 move what data parallelism does, stage 3 half as much again.
  void stages_move_the_bytes_that_the_paper_counts() {
    const SystemPreset preset{"tiny_lm_dp", {}, 1};  // at its own size: more tokens than rows of kernels
    for (int64_t devices : {2, 4, 8}) {
      const auto wire = [&](int64_t stage) {
        return plan_of(preset, {devices}, LayoutMode::as_written, stage).totals.wire_bytes_per_device;
      };
      QVERIFY(std::abs(wire(1) / wire(0) - 1) < 0.01);
      QVERIFY(std::abs(wire(2) / wire(0) - 1) < 0.01);
      // Small arrays are not worth gathering where the batch has fewer rows.
      QVERIFY2(std::abs(wire(3) / wire(0) - 1.5) < 0.03, qPrintable(QString::number(wire(3) / wire(0))));
    }
  }

  // With k microbatches stage 2 scatters, and stage 3 gathers and scatters, for each of them.
  void stages_2_and_3_pay_for_each_microbatch() {
    const SystemPreset preset{"tiny_lm_dp", {}, 1};  // at its own size: more tokens than rows of kernels
    const auto wire = [&](int64_t stage, int64_t microbatches) {
      return plan_of(preset, {4}, LayoutMode::as_written, stage, microbatches).totals.wire_bytes_per_device;
    };
    const double once = wire(0, 1) / 2;  // an all-gather, or a reduce-scatter, of all parameters
    for (int64_t k : {2, 4}) {
      const auto times = static_cast<double>(k);
      QVERIFY(std::abs(wire(1, k) / once - 2) < 0.02);
      QVERIFY(std::abs(wire(2, k) / once - (times + 1)) < 0.05 * times);
      QVERIFY2(std::abs(wire(3, k) / once - 3 * times) < 0.05 * times, qPrintable(QString::number(wire(3, k) / once)));
    }
  }

  void each_stage_splits_what_it_names() {
    const SystemPreset& preset = system_preset("tiny_lm_dp");
    const auto plan = [&](int64_t stage) { return plan_of(preset, {8}, LayoutMode::as_written, stage, 2); };
    const Plan none = plan(0);
    for (int64_t stage : {1, 2, 3}) {
      const Plan made = plan(stage);
      const auto share = [&](MemoryCategory category) {
        return static_cast<double>(bytes(made, category)) / static_cast<double>(bytes(none, category));
      };
      QVERIFY(std::abs(share(MemoryCategory::optimizer) - 1.0 / 8) < 0.03);
      QCOMPARE(share(MemoryCategory::gradients) < 0.3, stage >= 2);
      QCOMPARE(share(MemoryCategory::parameters) < 0.2, stage >= 3);
    }
  }

  // What all of a strategy's replicas and its ring have alike is split over all of them; experts' kernels are split by
  // the axis of experts already.
  void a_strategys_states_are_split_over_all_that_have_them() {
    StrategyConfig strategy;
    strategy.data = strategy.expert = strategy.context = 2;
    strategy.zero = 1;
    const Plan plan = compile(
        {with_strategy(system_run("mixtral_tiny", system_preset("mixtral_tiny").small), strategy), reference_host()});
    int of_experts = 0, of_others = 0;
    for (const ParameterPlan& parameter : plan.parameters) {
      if (parameter.shape.size() < 2) continue;
      for (int64_t parts : parts_of_states(plan, parameter)) QCOMPARE(parts, int64_t{8});
      ++(parameter.path[parameter.path.size() - 2] == "experts" ? of_experts : of_others);
    }
    QVERIFY(of_experts > 0 && of_others > 0);
  }

  // Where no dimension divides by all of the axes, the first of them split it.
  void as_many_axes_split_as_divide() {
    std::vector<std::string> settings = system_preset("tiny_lm_dp").small;
    settings.push_back("model.d_ff=96");
    RunConfig config = system_run("tiny_lm_dp", settings, {2});
    config.mesh_axes = {{"data", 2}, {"more", 3}};
    config.sharding.zero = {1, {"data", "more"}};
    const Plan plan = compile({config, reference_host()});
    int by_both = 0, by_one = 0;
    for (const ParameterPlan& parameter : plan.parameters) {
      const bool divides = std::ranges::any_of(parameter.shape, [](int64_t size) { return size % 6 == 0; });
      for (int64_t parts : parts_of_states(plan, parameter)) QCOMPARE(parts, divides ? int64_t{6} : int64_t{2});
      ++(divides ? by_both : by_one);
    }
    QVERIFY(by_both > 0 && by_one > 0);
  }

  void axes_that_cannot_be_are_located_errors() {
    RunConfig config = system_run("tiny_lm_dp", system_preset("tiny_lm_dp").small, {2});
    const auto place_of = [&](std::vector<std::string> axes) {
      config.sharding.zero = {1, std::move(axes)};
      const std::vector<Error> errors = validate(config);
      return errors.size() == 1 ? errors[0].code + " " + to_string(errors[0].place) : std::string();
    };
    QCOMPARE(place_of({"data", "dta"}), std::string("unknown_axis sharding.zero.axis[1]"));
    QCOMPARE(place_of({"data", "data"}), std::string("duplicate_axis sharding.zero.axis[1]"));
  }

  void an_axis_that_is_not_there_is_a_located_error() {
    RunConfig config = system_run("tiny_lm_dp", system_preset("tiny_lm_dp").small, {2});
    config.sharding.zero = {1, {"dta"}};
    const std::vector<Error> errors = validate(config);
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(to_string(errors[0].place), std::string("sharding.zero.axis"));
    QVERIFY(errors[0].hint.find("data") != std::string::npos);
  }
};

REGISTER_TEST(ZeroTest)

}  // namespace zero_test

#include "zero_test.moc"
