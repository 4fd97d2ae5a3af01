#include <QTest>
#include <algorithm>
#include <numeric>
#include <random>

#include "engine/compile/compile.h"
#include "engine/compile/document_of.h"
#include "engine/config/parse.h"
#include "engine/config/strategy.h"
#include "engine/config/write.h"
#include "engine/machine/host_machine.h"
#include "tests/base/errors_of.h"
#include "tests/compile/system_preset.h"
#include "tests/config/random_strategy.h"
#include "tests/test_program.h"

namespace strategies_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

RunConfig run_of(const std::string& preset, const StrategyConfig& strategy) {
  return with_strategy(system_run(preset, system_preset(preset).small), strategy);
}

// Bytes of collectives of a kind in a step, over an axis.
int64_t count_of(const Plan& plan, InstructionKind kind, const std::string& axis) {
  const std::optional<AxisIndex> wanted = plan.mesh.find_axis(axis);
  int64_t count = 0;
  for (const Instruction& instruction : plan.instructions()) {
    if (instruction.kind() == kind && wanted && instruction.axes().contains(*wanted)) ++count;
  }
  return count;
}

// Bytes that stages send each other in a step.
double message_bytes(const Plan& plan) {
  double bytes = 0;
  for (const Task& task : plan.program.tasks) {
    for (const Instruction& instruction : task.instructions) {
      if (!instruction.as<Send>()) continue;
      for (int value : instruction.operands())
        bytes += static_cast<double>(plan.program.values[static_cast<size_t>(value)].bytes());
    }
  }
  return bytes;
}

}  // namespace

class StrategiesTest : public QObject {
  Q_OBJECT

 private slots:
  // A stage keeps what it received, however many layers are recomputed together.
  void recomputation_sends_nothing_between_stages() {
    std::vector<std::string> settings = system_preset("llama_tiny").small;
    settings.emplace_back("model.overrides.num_hidden_layers=9");
    RunConfig config = with_strategy(system_run("llama_tiny", settings), {.pipeline = 4, .microbatch_size = 2});
    const double plain = message_bytes(compile({config, reference_host()}));
    QVERIFY(plain > 0);
    config.schedule.rematerialise = "full";
    for (int64_t layers = 1; layers <= 9; ++layers) {
      config.schedule.rematerialised_layers = layers;
      QCOMPARE(message_bytes(compile({config, reference_host()})), plain);
    }
  }

  // Of each it says where in the strategy it is wrong, or plans it; and it plans most.
  void a_random_strategy_plans_or_says_which_number_is_wrong_data() {
    QTest::addColumn<QString>("preset");
    for (const char* preset : {"llama_tiny", "nnx_gpt2", "tiny_text", "tiny_lm_dp", "qwen3_tiny"})
      QTest::newRow(preset) << preset;
  }
  void a_random_strategy_plans_or_says_which_number_is_wrong() {
    QFETCH(QString, preset);
    RandomStrategies strategies(5, 8);
    int planned = 0;
    for (int i = 0; i < 40; ++i) {
      const RunConfig config = run_of(preset.toStdString(), strategies.next());
      const std::vector<Error> errors = validate(config);
      for (const Error& error : errors) {
        QVERIFY2(error.place.path.starts_with("strategy") || error.place.path == "schedule.microbatches",
                 to_string(error).c_str());
        QVERIFY2(!error.hint.empty(), to_string(error).c_str());
      }
      if (!errors.empty()) continue;
      ++planned;
      const Plan plan = compile({config, reference_host()});
      QCOMPARE(plan.mesh.device_count(), static_cast<int>(config.strategy->devices()));
      for (const Instruction& instruction : plan.instructions())
        QVERIFY2(plan.cause(instruction).find("sharding.rules[") == std::string::npos, plan.cause(instruction).c_str());
    }
    QVERIFY2(planned >= 10, qPrintable(QString::number(planned)));
  }

  void the_plan_of_a_strategy_is_that_of_the_file_that_it_expands_to() {
    RandomStrategies strategies(6, 8);
    std::mt19937 random(7);
    int planned = 0;
    for (int i = 0; i < 40; ++i) {
      RunConfig ordered = run_of("llama_tiny", strategies.next());
      ordered.mesh_devices.resize(static_cast<size_t>(ordered.strategy->devices()));
      std::iota(ordered.mesh_devices.begin(), ordered.mesh_devices.end(), 0);
      std::ranges::shuffle(ordered.mesh_devices, random);
      const RunConfig config = parse_run_config(write_run_config(ordered), "");
      if (!validate(config).empty()) continue;
      RunConfig expanded = config;
      expanded.strategy.reset();
      const Plan plan = compile({config, reference_host()});
      const Plan other = compile({parse_run_config(write_run_config(expanded), ""), reference_host()});
      QCOMPARE(other.hash, plan.hash);
      QCOMPARE(in_words_of_strategy(program_of(other), *first_rule_of_strategy(config)), program_of(plan));
      QVERIFY(document_of(plan).strategy == config.strategy);
      QVERIFY(plan.mesh.devices() == ordered.mesh_devices);
      ++planned;
    }
    QVERIFY(planned >= 10);
  }

  void impossible_numbers_say_why_and_what_is_near_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<int>("value");
    QTest::addColumn<QString>("near");
    QTest::newRow("tensor") << "tensor" << 3 << "near: 1, 2, 4, 8";
    QTest::newRow("data") << "data" << 3 << "near: 1, 2, 4, 8";
    QTest::newRow("context") << "context" << 5 << "near: 2, 4, 8, 16";
    QTest::newRow("expert") << "expert" << 2 << "1";
    QTest::newRow("microbatch_size") << "microbatch_size" << 3 << "near: 1, 2, 4, 8";
  }
  void impossible_numbers_say_why_and_what_is_near() {
    QFETCH(QString, key);
    QFETCH(int, value);
    QFETCH(QString, near);
    StrategyConfig strategy;
    if (int64_t* degree = find_degree(strategy, key.toStdString())) *degree = value;
    else strategy.microbatch_size = value;
    const std::vector<Error> errors = validate(run_of("llama_tiny", strategy));
    QVERIFY2(errors.size() == 1, to_string(errors.back()).c_str());
    const auto at =
        std::ranges::find(errors, "strategy." + key.toStdString(), [](const Error& error) { return error.place.path; });
    QVERIFY(at != errors.end());
    QVERIFY2(at->hint.find(near.toStdString()) != std::string::npos, at->hint.c_str());
  }

  // Of each layer forward: one all-reduce after attention and one after the feed-forward part, or with sequence
  // parallelism a gather before and a reduce-scatter behind each.
  void tensor_parallelism_is_megatrons() {
    StrategyConfig strategy;
    strategy.tensor = 2;
    const Plan plain = compile({run_of("llama_tiny", strategy), reference_host()});
    strategy.sequence_parallel = true;
    const Plan sequence = compile({run_of("llama_tiny", strategy), reference_host()});
    QVERIFY(count_of(plain, InstructionKind::all_reduce, "tensor") > 0);
    QCOMPARE(count_of(plain, InstructionKind::reduce_scatter, "tensor"), 0);
    QVERIFY(count_of(sequence, InstructionKind::reduce_scatter, "tensor") >= 8);
    QVERIFY(count_of(sequence, InstructionKind::all_gather, "tensor") >= 8);
    for (const Plan* plan : {&plain, &sequence}) {
      QCOMPARE(count_of(*plan, InstructionKind::all_to_all, "tensor"), 0);
      for (const Instruction& instruction : plan->instructions()) {
        if (!is_collective(instruction.kind())) continue;
        for (int value : instruction.operands()) {
          const Value& moved = plan->graph->values[static_cast<size_t>(plan->program.values[value].graph_value)];
          QVERIFY2(moved.kind != ValueKind::state, moved.name.c_str());
        }
      }
    }
  }

  // Every device has the whole router, as in Megatron: tokens travel to their experts and back, and nothing else does.
  void along_experts_only_tokens_travel_data() {
    QTest::addColumn<QString>("preset");
    for (const char* preset : {"mixtral_tiny", "deepseek_v3_tiny", "gpt_oss_tiny"}) QTest::newRow(preset) << preset;
  }
  void along_experts_only_tokens_travel() {
    QFETCH(QString, preset);
    StrategyConfig strategy;
    strategy.expert = 2;
    const Plan plan = compile({run_of(preset.toStdString(), strategy), reference_host()});
    const AxisIndex expert = *plan.mesh.find_axis("expert");
    int exchanges = 0;
    for (const Instruction& instruction : plan.instructions()) {
      if (!instruction.axes().contains(expert)) continue;
      if (instruction.kind() == InstructionKind::all_to_all) {
        ++exchanges;
      } else {
        QVERIFY2(instruction.kind() == InstructionKind::all_reduce, name(instruction.kind()).data());
      }
    }
    QVERIFY(exchanges >= 4);
  }

  void fsdp_gathers_parameters_before_each_use_and_scatters_gradients() {
    StrategyConfig strategy;
    strategy.fsdp = 4;
    const Plan plan = compile({run_of("llama_tiny", strategy), reference_host()});
    QVERIFY(count_of(plan, InstructionKind::all_gather, "fsdp") > 0);
    QVERIFY(count_of(plan, InstructionKind::reduce_scatter, "fsdp") > 0);
    for (const ParameterPlan& parameter : plan.parameters) {
      const Shape local = local_shape(parameter.sharding, plan.mesh, parameter.shape);
      QCOMPARE(4 * element_count(local), element_count(parameter.shape));
    }
  }
};

REGISTER_TEST(StrategiesTest)

}  // namespace strategies_test

#include "strategies_test.moc"
