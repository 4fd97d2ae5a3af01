#include <QtTest>
#include <set>

#include "engine/graph/op_definition.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/laws/pipeline_case.h"
#include "tests/laws/training_agreement.h"
#include "tests/test_program.h"

namespace mixed_precision_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int64_t steps = 5;

const std::vector<SystemPreset>& presets() {
  static const std::vector<SystemPreset> list{
      system_preset("tiny_lm_fsdp"),
      system_preset("nnx_gpt2"),
      system_preset("mintext_transformer"),
      system_preset("mixtral_tiny"),
      system_preset("deepseek_v3_tiny"),
      system_preset("gpt_oss_tiny"),
      {"parallax_decoder",
       {"model.vocab_size=32", "model.seq_len=8", "model.embed_dim=32", "model.num_heads=8", "data.batch_size=16"}}};
  return list;
}

Plan planned(const SystemPreset& preset, const std::string& dtype, std::vector<int64_t> mesh) {
  mesh.resize(static_cast<size_t>(preset.mesh_axes), 1);
  std::vector<std::string> settings = preset.small;
  settings.push_back("model.compute_dtype=" + dtype);
  return compile({system_run(preset.name, settings, mesh), reference_host()});
}

std::vector<double> losses(const ThreadTraining& training) {
  std::vector<double> list;
  for (const StepMessage& step : training.steps) list.push_back(value_of(step.metrics, "loss"));
  return list;
}

const std::vector<PipelineCase>& pipelines() {
  static const std::vector<PipelineCase> list{{"1f1b", 1, {2, 2}, 4, "none", 0, LayoutMode::as_written},
                                              {"1f1b", 1, {2, 2}, 4, "full", 3, LayoutMode::fastest},
                                              {"1f1b", 2, {2, 1}, 4, "none", 3, LayoutMode::as_written},
                                              {"1f1b", 2, {1, 2}, 4, "mlp", 0, LayoutMode::fastest},
                                              {"zero_bubble", 2, {1, 2}, 4, "none", 1, LayoutMode::as_written}};
  return list;
}

// Without stages.
RunConfig in_parts(const RunConfig& config, const PipelineCase& one) {
  RunConfig parts = in_stages(config, one);
  parts.mesh_axes.pop_back();
  parts.pipeline = {};
  return parts;
}

// A preset on a mesh, with more settings.
struct RecipeRun {
  std::string preset;
  std::vector<int64_t> mesh;
  std::vector<std::string> settings;
};

const std::vector<RecipeRun>& recipe_runs() {
  static const std::vector<RecipeRun> list{
      {"tiny_lm_fsdp", {4}, {}},
      {"tiny_lm_dp", {4}, {"sharding.zero.stage=1", "schedule.microbatches=2"}},
      {"tiny_lm_dp", {4}, {"sharding.zero.stage=3", "schedule.rematerialise=full"}},
      {"nnx_gpt2", {2, 2}, {"sharding.zero.stage=2", "schedule.microbatches=4", "sharding.mode=as_written"}},
      {"mintext_transformer", {2, 2}, {}},
      {"llama_tiny", {2, 2}, {"schedule.rematerialise=mlp", "optimizer.clip_by_global_norm=0.5"}},
      {"llama_tiny", {4, 1}, {"sharding.zero.stage=3", "sharding.mode=as_written"}},
      {"gemma3_tiny", {2, 2}, {}},
      {"mixtral_tiny", {2, 2}, {"sharding.zero.stage=1"}},
      {"deepseek_v3_tiny", {1, 2}, {}},
      {"gpt_oss_tiny", {2, 1}, {"sharding.mode=as_written"}}};
  return list;
}

// Of rows that travel as many as there are.
int64_t counted_bytes(const Plan& plan) {
  int64_t bytes = 0;
  for (const Instruction& instruction : plan.instructions()) {
    const CollectiveStart* start = instruction.as<CollectiveStart>();
    if (start && start->counted) bytes += start->payload_bytes;
  }
  return bytes;
}

double apart(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]) / std::abs(b[i]));
  return most;
}

}  // namespace

// compute_dtype = bf16: matrix products of bf16 operands, those of experts too, and everything else in f32.
class MixedPrecisionTest : public QObject {
  Q_OBJECT

  static void list_presets() {
    QTest::addColumn<int>("index");
    for (size_t i = 0; i < presets().size(); ++i) QTest::newRow(presets()[i].name.c_str()) << static_cast<int>(i);
  }

 private slots:
  void every_matrix_product_is_of_bf16_and_nothing_that_is_kept_is_data() { list_presets(); }
  void every_matrix_product_is_of_bf16_and_nothing_that_is_kept_is() {
    QFETCH(int, index);
    const Plan plan = planned(presets()[static_cast<size_t>(index)], "bf16", {});
    const Graph& graph = *plan.graph;
    int products = 0;
    for (const Op& op : graph.ops) {
      if (op.definition->name() == "einsum" || op.definition->name().starts_with("expert_linear")) {
        ++products;
        for (ValueId input : op.inputs) QVERIFY2(graph.type(input).dtype != DType::f32, op.name.c_str());
      }
      const bool keeps_f32 =
          std::set<std::string_view>{"adam", "cross_entropy", "attention", "top_k", "weighted_sum"}.contains(
              op.definition->name());
      for (ValueId input : op.inputs) {
        QVERIFY2(!keeps_f32 || graph.type(input).dtype != DType::bf16, op.name.c_str());
      }
    }
    QVERIFY(products > 10);
    for (const State& state : graph.states) QCOMPARE(graph.type(state.before).dtype, DType::f32);
    QVERIFY(!plan.bf16_products.empty());
    QVERIFY(planned(presets()[static_cast<size_t>(index)], "f32", {}).bf16_products.empty());
  }

  void rows_travel_to_experts_and_back_in_bf16() {
    for (const char* preset : {"mixtral_tiny", "deepseek_v3_tiny", "gpt_oss_tiny"}) {
      const auto planned_in = [&](const char* dtype) {
        std::vector<std::string> settings = system_preset(preset).small;
        settings.push_back(std::string("model.compute_dtype=") + dtype);
        RunConfig config = system_run(preset, settings);
        config.mesh_axes = {{"data", 1}, {"expert", 2}, {"model", 1}};
        config.sharding = {};
        config.sharding.mode = LayoutMode::as_written;
        config.sharding.in = config.sharding.out = PartitionSpec{{{"data", "expert"}, {}}};
        config.sharding.rules = {rule_for_experts()};
        return compile({config, reference_host()});
      };
      const Plan half = planned_in("bf16"), single = planned_in("f32");
      QCOMPARE(2 * counted_bytes(half), counted_bytes(single));
      int moved = 0;
      for (const Op& op : half.graph->ops) {
        const std::string_view name = op.definition->name();
        const bool moves = name == "dispatch" || name == "combine";
        if (!moves && (name != "grouped_linear" || op.name.find("/bias") != std::string::npos)) continue;
        QVERIFY2(half.graph->type(op.inputs[0]).dtype == DType::bf16, op.name.c_str());
        moved += moves;
      }
      QVERIFY(moved > 0);
    }
  }

  void losses_stay_near_those_of_f32_and_are_not_the_same_data() { list_presets(); }
  void losses_stay_near_those_of_f32_and_are_not_the_same() {
    QFETCH(int, index);
    const SystemPreset& preset = presets()[static_cast<size_t>(index)];
    const std::vector<double> exact = losses(train_in_threads(planned(preset, "f32", {}), steps));
    const std::vector<double> mixed = losses(train_in_threads(planned(preset, "bf16", {}), steps));
    QVERIFY2(apart(mixed, exact) < 2e-2, std::to_string(apart(mixed, exact)).c_str());
    QVERIFY(apart(mixed, exact) > 0);
  }

  void split_over_devices_it_stays_as_near_and_replicas_are_equal_data() { list_presets(); }
  void split_over_devices_it_stays_as_near_and_replicas_are_equal() {
    QFETCH(int, index);
    const SystemPreset& preset = presets()[static_cast<size_t>(index)];
    const std::vector<double> alone = losses(train_in_threads(planned(preset, "bf16", {}), steps));
    const std::vector<int64_t> mesh = preset.mesh_axes == 1 ? std::vector<int64_t>{4} : std::vector<int64_t>{2, 2};
    const Plan plan = planned(preset, "bf16", mesh);
    const ThreadTraining split = train_in_threads(plan, steps);
    QVERIFY2(apart(losses(split), alone) < 1e-2, std::to_string(apart(losses(split), alone)).c_str());
    QVERIFY(split.replicas_equal);
    compare_with_prediction(split, plan);
  }

  // Parameters are cast once a step, for all microbatches; a tied embedding on two stages.
  void in_microbatches_and_stages_it_stays_as_near_data() {
    QTest::addColumn<int>("index");
    for (size_t i = 0; i < pipelines().size(); ++i) {
      QTest::newRow(pipelines()[i].text().c_str()) << static_cast<int>(i);
    }
  }
  void in_microbatches_and_stages_it_stays_as_near() {
    QFETCH(int, index);
    const RunConfig config = four_layers({"model.tied_embedding=true", "model.compute_dtype=bf16"});
    const std::vector<double> alone = losses(train_in_threads(compile({config, reference_host()}), steps));
    const PipelineCase& one = pipelines()[static_cast<size_t>(index)];
    const Plan plan = compile({one.stages > 1 ? in_stages(config, one) : in_parts(config, one), reference_host()});
    const ThreadTraining split = train_in_threads(plan, steps);
    QVERIFY2(apart(losses(split), alone) < 1e-2, std::to_string(apart(losses(split), alone)).c_str());
    QVERIFY(split.replicas_equal);
    compare_with_prediction(split, plan);
    int casts = 0;
    for (const Task& task : plan.program.tasks) {
      for (const Instruction& instruction : task.instructions) {
        if (instruction.kind() != InstructionKind::compute ||
            plan.graph->ops[instruction.op].definition->name() != "cast")
          continue;
        const ProgramValue& operand = plan.program.values[instruction.operands()[0]];
        if (plan.graph->values[operand.graph_value].kind != ValueKind::state) continue;
        QVERIFY2(task.name.starts_with("begin"), plan.instruction_name(instruction).c_str());
        ++casts;
      }
    }
    QVERIFY(casts > 20);
  }

  // Recipes whose gradients and sums are f32 stay as near on meshes, in stages, under ZeRO and rematerialisation as
  // products of bf16 alone.
  void recipes_stay_near_one_device_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<QString>("recipe");
    for (const char* recipe : {"bf16_mixed", "bf16"}) {
      for (size_t i = 0; i < recipe_runs().size(); ++i) {
        const std::string title = recipe_runs()[i].preset + " " + recipe;
        QTest::newRow((title + " " + std::to_string(i)).c_str()) << static_cast<int>(i) << recipe;
      }
    }
  }
  void recipes_stay_near_one_device() {
    QFETCH(int, index);
    QFETCH(QString, recipe);
    const RecipeRun& run = recipe_runs()[static_cast<size_t>(index)];
    const SystemPreset& preset = system_preset(run.preset);
    const auto trained = [&](const std::vector<int64_t>& mesh, const std::vector<std::string>& more) {
      std::vector<std::string> settings = preset.small;
      settings.push_back("precision=" + recipe.toStdString());
      settings.insert(settings.end(), more.begin(), more.end());
      std::vector<int64_t> sizes = mesh;
      sizes.resize(static_cast<size_t>(preset.mesh_axes), 1);
      const Plan plan = compile({system_run(preset.name, settings, sizes), reference_host()});
      ThreadTraining training = train_in_threads(plan, steps);
      compare_with_prediction(training, plan);
      return training;
    };
    const ThreadTraining alone = trained({}, {}), split = trained(run.mesh, run.settings);
    const double most = recipe == "bf16" ? 3e-2 : 1e-2;
    QVERIFY2(apart(losses(split), losses(alone)) < most, std::to_string(apart(losses(split), losses(alone))).c_str());
    QVERIFY(split.replicas_equal);
  }

  void in_stages_recipes_stay_near_one_device_data() { in_microbatches_and_stages_it_stays_as_near_data(); }
  void in_stages_recipes_stay_near_one_device() {
    QFETCH(int, index);
    for (const char* recipe : {"bf16_mixed", "bf16"}) {
      const RunConfig config = four_layers({"model.tied_embedding=true", std::string("precision=") + recipe});
      const std::vector<double> alone = losses(train_in_threads(compile({config, reference_host()}), steps));
      const PipelineCase& one = pipelines()[static_cast<size_t>(index)];
      const Plan plan = compile({one.stages > 1 ? in_stages(config, one) : in_parts(config, one), reference_host()});
      const ThreadTraining split = train_in_threads(plan, steps);
      QVERIFY2(apart(losses(split), alone) < 2e-2, std::to_string(apart(losses(split), alone)).c_str());
      QVERIFY(split.replicas_equal);
      compare_with_prediction(split, plan);
    }
  }

  void what_is_only_planned_refuses_to_train() {
    for (const char* recipe : {"f16_mixed", "fp8_mixed"}) {
      const Plan plan = compile({system_run("nnx_gpt2", {std::string("precision=") + recipe}), reference_host()});
      try {
        train_in_threads(plan, 1);
        QFAIL("it trains");
      } catch (const Failure& failure) {
        QCOMPARE(failure.errors()[0].code, std::string("planned_only"));
        QCOMPARE(to_string(failure.errors()[0].place), std::string("precision"));
      }
    }
  }

  void another_word_is_an_error_at_its_place() {
    RunConfig config = system_run("nnx_gpt2", {"model.compute_dtype=fp8"});
    const std::vector<Error> errors = validate(config);
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(to_string(errors[0].place), std::string("model.compute_dtype"));
  }
};

REGISTER_TEST(MixedPrecisionTest)

}  // namespace mixed_precision_test

#include "mixed_precision_test.moc"
