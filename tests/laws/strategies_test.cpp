#include <QtTest>
#include <algorithm>

#include "engine/config/strategy.h"
#include "engine/machine/host_machine.h"
#include "tests/config/random_strategy.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace strategies_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// Without Adam, which turns rounding into steps where a gradient is small.
constexpr double learning_rate = 0.1;
const std::vector<std::string> plain_sgd = {"optimizer.name=sgd", "optimizer.learning_rate=0.1"};

const ThreadTraining& alone(const SystemPreset& preset) {
  static std::map<std::string, ThreadTraining> cache;
  auto [entry, added] = cache.try_emplace(preset.name);
  if (added) {
    const RunConfig run = with_settings(system_run(preset.name, preset.small, {1, 1}), plain_sgd);
    entry->second = train_in_threads(compile({run, reference_host()}), serial_steps);
  }
  return entry->second;
}

}  // namespace

class StrategiesTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 1. Strategies of up to 8 devices, each of the axes alone and random ones.
  void every_strategy_trains_as_one_device_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<int>("seed");
    for (const char* preset :
         {"llama_tiny", "qwen3_tiny", "gemma3_tiny", "mixtral_tiny", "deepseek_v3_tiny", "gpt_oss_tiny", "nnx_gpt2"}) {
      for (int seed = 0; seed < 12; ++seed)
        QTest::newRow(qPrintable(QString("%1 %2").arg(preset).arg(seed))) << preset << seed;
    }
  }
  void every_strategy_trains_as_one_device() {
    QFETCH(QString, preset);
    QFETCH(int, seed);
    const SystemPreset& system = system_preset(preset.toStdString());
    const RunConfig run = with_settings(system_run(system.name, system.small, {1, 1}), plain_sgd);
    RandomStrategies strategies(static_cast<uint32_t>(seed), 8);
    RunConfig config;
    do config = with_strategy(run, strategies.next());
    while (config.strategy->devices() < 2 || !validate(config).empty());
    const Plan plan = compile({config, reference_host()});
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, alone(system), learning_rate, is_key_bias);
    compare_with_prediction(training, plan);
  }

  // Law 1, with a part of every kernel of every expert on each device: of gate and up the same columns, which no device
  // is sent. Of rows on their way to experts and back each device of a tensor-parallel group sends a part.
  void tensor_parallelism_splits_all_kernels_of_experts_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<int>("tensor");
    QTest::addColumn<int>("expert");
    for (const char* preset : {"mixtral_tiny", "deepseek_v3_tiny", "gpt_oss_tiny"}) {
      for (const auto& [tensor, expert] : {std::pair(2, 1), {4, 1}, {2, 2}, {4, 2}})
        QTest::addRow("%s tensor %d expert %d", preset, tensor, expert) << preset << tensor << expert;
    }
  }
  void tensor_parallelism_splits_all_kernels_of_experts() {
    QFETCH(QString, preset);
    QFETCH(int, tensor);
    QFETCH(int, expert);
    const SystemPreset& system = system_preset(preset.toStdString());
    StrategyConfig strategy;
    strategy.tensor = tensor;
    strategy.expert = expert;
    const RunConfig run = with_settings(system_run(system.name, system.small, {1, 1}), plain_sgd);
    const Plan plan = compile({with_strategy(run, strategy), reference_host()});
    int kernels = 0;
    for (const ParameterPlan& parameter : plan.parameters) {
      const bool of_experts = std::ranges::count(parameter.path, "experts") > 0 && parameter.shape.size() > 2;
      if (!of_experts) continue;
      ++kernels;
      const Shape& local = plan.program.values[static_cast<size_t>(parameter.value)].local_shape;
      QCOMPARE(element_count(local) * tensor * expert, element_count(parameter.shape));
    }
    QVERIFY(kernels >= 2);
    int sent = 0;
    for (const Instruction& instruction : plan.program.main_instructions()) {
      const CollectiveStart* start = instruction.as<CollectiveStart>();
      if (!start) continue;
      const std::string name = plan.instruction_name(instruction);
      for (const char* kernel :
           {"experts/gate_up_proj", "experts/split", "experts/in_halves", "experts/bias_in_halves"})
        QVERIFY2(name.find(kernel) == std::string::npos, name.c_str());
      const ProgramValue& value = plan.program.values[static_cast<size_t>(start->operands.front())];
      if (start->kind != InstructionKind::all_to_all || value.local_shape.size() != 4) continue;
      ++sent;
      QCOMPARE(value.local_shape[3] * tensor, plan.graph->type(value.graph_value).shape[3]);
    }
    QCOMPARE(sent > 0, expert > 1);
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, alone(system), learning_rate, is_key_bias);
    compare_with_prediction(training, plan);
  }
};

REGISTER_TEST(StrategiesTest)

}  // namespace strategies_test

#include "strategies_test.moc"
