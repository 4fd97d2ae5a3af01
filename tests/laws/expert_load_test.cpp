#include <QtTest>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/comm/rank_world.h"
#include "engine/graph/op_definition.h"
#include "engine/ops/dispatch.h"
#include "engine/runtime/executor.h"
#include "engine/worker/input_filler.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace expert_load_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

struct Split {
  std::vector<int64_t> mesh;  // data, expert, model
  int64_t microbatches = 1;
  int64_t stages = 1;
  std::string rematerialise = "none";
  LayoutMode mode = LayoutMode::fastest;
  std::string text() const {
    std::string sizes;
    for (int64_t size : mesh) sizes += std::to_string(size) + "x";
    return sizes + std::to_string(stages) + " in " + std::to_string(microbatches) + " " + rematerialise +
           (mode == LayoutMode::fastest ? "" : " as written");
  }
};

RunConfig run_of(const std::string& preset, const Split& split, const std::vector<std::string>& settings = {}) {
  std::vector<std::string> small = system_preset(preset).small;
  small.insert(small.end(), settings.begin(), settings.end());
  RunConfig config = system_run(preset, small);
  config.mesh_axes = {{"data", split.mesh[0]}, {"expert", split.mesh[1]}, {"model", split.mesh[2]}};
  config.sharding = {};
  config.sharding.mode = split.mode;
  config.sharding.in = config.sharding.out = PartitionSpec{{{"data", "expert"}, {}}};
  SpecRule rule;
  rule.placement = LogicalAxes{{{"experts", {"expert"}}, {"heads", {"model"}}, {"vocab", {"model"}}}};
  config.sharding.rules = {rule};
  config.schedule.microbatches = split.microbatches;
  config.schedule.rematerialise = split.rematerialise;
  if (split.stages > 1) {
    config.mesh_axes.push_back({"pipeline", split.stages});
    config.pipeline = {"pipeline", "1f1b", 1, {}};
  }
  return config;
}

const std::vector<std::string>& presets_with_experts() {
  static const std::vector<std::string> presets{"mixtral_tiny", "deepseek_v3_tiny", "gpt_oss_tiny"};
  return presets;
}

// What routers choose in the first step on one device, a list of (b, s, k) for each layer.
class Choices : public ExecutionObserver {
 public:
  explicit Choices(const Plan& plan)
      : plan_(plan),
        world_(make_self_world(rank_memory_bytes(plan))),
        executor_(plan, 0, world_.arena.data(), *world_.communicator) {
    InputFiller inputs(plan, 0, executor_);
    executor_.run(Purpose::initialise, {});
    RunHooks hooks;
    hooks.begin_microbatch = [&](int microbatch) { inputs.fill(0, microbatch); };
    hooks.observer = this;
    executor_.run(Purpose::train_step, {0, true}, hooks);
  }

  void begin(int) override {}
  void end(int position, int64_t, int64_t) override {
    const Instruction& instruction = plan_.instructions()[position];
    const Op& op = plan_.graph->ops[static_cast<size_t>(instruction.op)];
    if (!instruction.as<Compute>() || op.definition->name() != "top_k" || op.phase != Phase::forward) return;
    const int value = instruction.results()[0];
    const std::span<std::byte> bytes = executor_.value(value);
    std::vector<int32_t>& layer = layers.emplace_back(bytes.size() / sizeof(int32_t));
    std::memcpy(layer.data(), bytes.data(), bytes.size());
    shape = plan_.program.values[static_cast<size_t>(value)].shape;
  }

  std::vector<std::vector<int32_t>> layers;
  Shape shape;

 private:
  const Plan& plan_;
  RankWorld world_;
  Executor executor_;
};

// Choices of a layer that find no room, block by block of tokens and experts, in each microbatch.
int64_t without_room(const std::vector<int32_t>& choices, const Shape& shape, int64_t microbatches,
                     const DispatchAttributes& a) {
  const int64_t rows = shape[0] / microbatches, batch = rows / a.batch_blocks, length = shape[1] / a.length_blocks;
  std::map<std::array<int64_t, 4>, int64_t> chosen;  // microbatch, block of rows, of positions, of experts
  for (int64_t slot = 0; slot < std::ssize(choices); ++slot) {
    const int64_t token = slot / shape[2], b = token / shape[1], s = token % shape[1];
    const int64_t expert = choices[static_cast<size_t>(slot)];
    ++chosen[{b / rows, b % rows / batch, s / length, expert / a.block_experts()}];
  }
  int64_t dropped = 0;
  for (const auto& [block, count] : chosen) dropped += std::max<int64_t>(0, count - a.rows);
  return dropped;
}

}  // namespace

class ExpertLoadTest : public QObject {
  Q_OBJECT

 private slots:
  void tokens_by_expert_are_those_of_one_device_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<int>("index");
    for (const std::string& preset : presets_with_experts()) {
      for (size_t i = 0; i < splits().size(); ++i) {
        QTest::newRow((preset + " " + splits()[i].text()).c_str()) << QString::fromStdString(preset) << int(i);
      }
    }
  }
  void tokens_by_expert_are_those_of_one_device() {
    QFETCH(QString, preset);
    QFETCH(int, index);
    const std::string name = preset.toStdString();
    const ThreadTraining& alone = serial_training(system_preset(name));
    const Plan plan = compile({run_of(name, splits()[static_cast<size_t>(index)]), reference_host()});
    const ThreadTraining training = train_in_threads(plan, 1);
    QVERIFY(!plan.expert_layers.empty());
    QCOMPARE(training.expert_loads.size(), size_t{1});
    QVERIFY(training.expert_loads[0] == alone.expert_loads[0]);
    double largest = 0;
    for (const ExpertLoad& load : training.expert_loads[0]) {
      QCOMPARE(load.dropped, 0.0);
      const double all = std::accumulate(load.tokens.begin(), load.tokens.end(), 0.0);
      largest = std::max(largest, std::ranges::max(load.tokens) / (all / static_cast<double>(load.tokens.size())));
    }
    QCOMPARE(value_of(training.steps[0].metrics, "expert_imbalance"), largest);
    QVERIFY(std::isnan(value_of(training.steps[0].metrics, "dropped_tokens")));
  }

  void every_token_of_every_step_is_counted() {
    for (const std::string& preset : presets_with_experts()) {
      const ThreadTraining& training = serial_training(system_preset(preset));
      QCOMPARE(static_cast<int64_t>(training.expert_loads.size()), serial_steps);
      const Plan plan = compile({run_of(preset, {{1, 1, 1}}), reference_host()});
      const Choices choices(plan);
      for (const std::vector<ExpertLoad>& loads : training.expert_loads) {
        QCOMPARE(loads.size(), choices.layers.size());
        for (const ExpertLoad& load : loads) QCOMPARE(load.total(), double(element_count(choices.shape)));
      }
      for (size_t layer = 0; layer < choices.layers.size(); ++layer) {
        std::vector<double> counted(training.expert_loads[0][layer].tokens.size());
        for (int32_t expert : choices.layers[layer]) ++counted[static_cast<size_t>(expert)];
        QVERIFY(counted == training.expert_loads[0][layer].tokens);
      }
    }
  }

  // Of one layer of experts, so that what is dropped changes no later choice of the step.
  void what_finds_no_room_is_counted_exactly_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<double>("capacity");
    for (size_t i = 0; i < splits().size(); ++i) {
      if (splits()[i].stages > 1) continue;
      for (double capacity : {0.25, 1.0}) {
        QTest::newRow((splits()[i].text() + " room " + std::to_string(capacity)).c_str()) << int(i) << capacity;
      }
    }
  }
  void what_finds_no_room_is_counted_exactly() {
    QFETCH(int, index);
    QFETCH(double, capacity);
    const Split& split = splits()[static_cast<size_t>(index)];
    const std::string one_layer = "model.overrides.num_hidden_layers=1";
    const Plan whole = compile({run_of("mixtral_tiny", {{1, 1, 1}}, {one_layer}), reference_host()});
    const Choices choices(whole);
    const Plan plan =
        compile({run_of("mixtral_tiny", split, {one_layer, "model.capacity_factor=" + std::to_string(capacity)}),
                 reference_host()});
    const auto op = std::ranges::find_if(plan.graph->ops,
                                         [](const Op& each) { return each.definition->name() == "expert_counts"; });
    QVERIFY(op != plan.graph->ops.end());
    const auto blocks = op->attributes.as<DispatchAttributes>();
    const int64_t expected = without_room(choices.layers.at(0), choices.shape, split.microbatches, blocks);
    if (capacity < 1) QVERIFY(expected > 0);
    const ThreadTraining training = train_in_threads(plan, 1);
    QCOMPARE(training.expert_loads[0].at(0).dropped, static_cast<double>(expected));
    QCOMPARE(value_of(training.steps[0].metrics, "dropped_tokens"), static_cast<double>(expected));
  }

  // Axes that split no tokens, stages and recomputed layers do not change which tokens are dropped, in any layer.
  void with_the_same_blocks_the_same_tokens_are_dropped() {
    const std::vector<std::string> room{"model.capacity_factor=0.75"};
    const auto loads = [&](const Split& split) {
      const Plan plan = compile({run_of("mixtral_tiny", split, room), reference_host()});
      return train_in_threads(plan, 1).expert_loads.at(0);
    };
    const std::vector<ExpertLoad> expected = loads({{1, 2, 1}, 2});
    QVERIFY(dropped_tokens(expected) > 0);
    for (const Split& split : {Split{{1, 2, 2}, 2}, Split{{1, 2, 1}, 2, 1, "full"}, Split{{1, 2, 1}, 2, 2},
                               Split{{1, 2, 2}, 2, 2, "full"}}) {
      QVERIFY2(loads(split) == expected, split.text().c_str());
    }
  }

 private:
  static const std::vector<Split>& splits() {
    static const std::vector<Split> all{{{1, 1, 1}},
                                        {{1, 1, 1}, 4},
                                        {{1, 4, 1}},
                                        {{2, 2, 1}},
                                        {{1, 2, 2}, 2},
                                        {{4, 2, 1}, 2},
                                        {{2, 1, 2}, 2},
                                        {{1, 2, 1}, 4, 1, "full"},
                                        {{1, 2, 1}, 4, 2},
                                        {{1, 2, 2}, 2, 2, "mlp"},
                                        {{2, 2, 1}, 2, 1, "none", LayoutMode::as_written},
                                        {{1, 2, 2}, 4, 1, "full", LayoutMode::as_written},
                                        {{1, 2, 1}, 4, 2, "none", LayoutMode::as_written}};
    return all;
  }
};

REGISTER_TEST(ExpertLoadTest)

}  // namespace expert_load_test

#include "expert_load_test.moc"
