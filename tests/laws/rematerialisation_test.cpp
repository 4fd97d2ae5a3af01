#include <QtTest>
#include <set>

#include "engine/base/name_pattern.h"
#include "engine/compile/recomputed_ops.h"
#include "engine/compile/training_graph.h"
#include "engine/machine/host_machine.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace rematerialisation_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

RunConfig config_of(const SystemPreset& preset, const std::vector<int64_t>& mesh, LayoutMode mode,
                    const ScheduleConfig& schedule) {
  RunConfig config = system_run(preset.name, preset.small, mesh);
  config.sharding.mode = mode;
  config.schedule = schedule;
  return config;
}

struct Case {
  const SystemPreset* preset;
  std::vector<int64_t> mesh;
  LayoutMode mode;
  ScheduleConfig schedule;
};

std::vector<Case> cases() {
  const char* policies[] = {"full", "attention", "mlp", "**"};
  std::vector<Case> list;
  size_t turn = 0;
  for (const SystemPreset& preset : system_presets()) {
    for (const std::vector<int64_t>& mesh : meshes_of(preset.mesh_axes)) {
      const LayoutMode mode = turn % 3 == 0 ? LayoutMode::fastest : LayoutMode::as_written;
      const ScheduleConfig schedule{turn % 5 < 2 ? 2 : 1, policies[turn % 4], turn % 8 == 0 ? 2 : 1};
      ++turn;
      if (validate(config_of(preset, mesh, mode, schedule)).empty()) list.push_back({&preset, mesh, mode, schedule});
    }
  }
  return list;
}

Plan deep(const ScheduleConfig& schedule) {
  RunConfig config = system_run("tiny_lm_dp", {"model.n_layers=12"}, {1});
  config.sharding.mode = LayoutMode::as_written;
  config.schedule = schedule;
  return compile({config, reference_host()});
}

std::vector<bool> recomputed(const RunConfig& config, const std::string& names) {
  ScheduleConfig schedule;
  schedule.rematerialise = names;
  return recomputed_values(*build_forward(config).graph, schedule);
}

const std::vector<std::string> small_layer{"model.seq_len=8", "model.hidden_size=32", "model.num_heads=8",
                                           "model.ffn_hidden_size=64", "data.batch_size=8"};

// Names of what backward reads of forward's results.
std::set<std::string> kept_for_backward(const Plan& plan) {
  std::set<int> made;
  std::set<std::string> names;
  for (const Task& task : plan.program.tasks) {
    if (task.phase == Phase::forward) made.insert(task.outputs.begin(), task.outputs.end());
  }
  for (const Task& task : plan.program.tasks) {
    for (int input : task.inputs) {
      if (task.phase == Phase::backward && made.contains(input))
        names.insert(plan.graph->values[plan.program.values[input].graph_value].name);
    }
  }
  return names;
}

int64_t activations(const Plan& plan) { return plan.totals.memory[static_cast<size_t>(MemoryCategory::activations)]; }

}  // namespace

class RematerialisationTest : public QObject {
  Q_OBJECT

 private slots:
  void what_is_made_again_trains_as_what_is_kept_data() {
    QTest::addColumn<int>("index");
    const std::vector<Case> list = cases();
    QVERIFY(list.size() > 50);
    for (size_t i = 0; i < list.size(); ++i) {
      const auto& [preset, mesh, mode, schedule] = list[i];
      QTest::newRow((text_of(preset->name, mesh, mode) + " " + schedule.rematerialise + " in " +
                     std::to_string(schedule.microbatches))
                        .c_str())
          << static_cast<int>(i);
    }
  }
  void what_is_made_again_trains_as_what_is_kept() {
    QFETCH(int, index);
    static const std::vector<Case> list = cases();
    const auto& [preset, mesh, mode, schedule] = list[static_cast<size_t>(index)];
    const Plan plan = compile({config_of(*preset, mesh, mode, schedule), reference_host()});
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, serial_training(*preset), 1e-3, is_key_bias);
    compare_with_prediction(training, plan);
  }

  void on_one_device_losses_are_bit_for_bit_those_of_what_is_kept() {
    for (const char* policy : {"full", "attention", "mlp"}) {
      for (const char* name : {"tiny_lm_dp", "nnx_gpt2", "mintext_transformer"}) {
        SystemPreset preset = system_preset(name);
        if (preset.name == "nnx_gpt2") {
          preset.small.insert(preset.small.end(), {"deterministic=false", "model.dropout_rate=0.3"});
        }
        const std::vector<int64_t> alone(static_cast<size_t>(preset.mesh_axes), 1);
        const auto losses = [&](const ScheduleConfig& schedule) {
          const RunConfig config = config_of(preset, alone, LayoutMode::as_written, schedule);
          return losses_of(train_in_threads(compile({config, reference_host()}), serial_steps));
        };
        QCOMPARE(losses({1, policy, 1}), losses({}));
      }
    }
  }

  void a_list_is_what_any_of_its_entries_names() {
    const std::vector<std::string> entries{"full", "attention", "mlp", "**/einsum", "**/gelu", "**/add*"};
    for (const SystemPreset& preset : system_presets()) {
      const RunConfig config = system_run(preset.name, preset.small);
      for (const std::string& first : entries) {
        for (const std::string& second : entries) {
          const std::vector<bool> a = recomputed(config, first), b = recomputed(config, second);
          const std::vector<bool> both = recomputed(config, pattern_of_list({first, second}));
          for (size_t value = 0; value < both.size(); ++value) QCOMPARE(bool(both[value]), a[value] || b[value]);
        }
      }
    }
  }

  void a_list_changes_no_bit_of_the_training() {
    for (const char* name : {"tiny_lm_dp", "workshop_tp"}) {
      const SystemPreset& preset = system_preset(name);
      const std::vector<int64_t> alone(static_cast<size_t>(preset.mesh_axes), 1);
      const auto train = [&](const ScheduleConfig& schedule) {
        const RunConfig config = config_of(preset, alone, LayoutMode::as_written, schedule);
        return train_in_threads(compile({config, reference_host()}), 2);
      };
      const ThreadTraining kept = train({});
      for (const std::string names : {"{attention,mlp}", "{mlp,**/add}", "{**/einsum,**/add,**/gelu}"}) {
        const ThreadTraining again = train({1, names, 1});
        QCOMPARE(losses_of(again), losses_of(kept));
        QVERIFY2(again.parameters == kept.parameters && !kept.parameters.empty(), name);
        QVERIFY(again.ranks[0].busy_ms[static_cast<size_t>(Phase::recompute)] > 0);
      }
    }
  }

  // The document's jax_checkpoint of norm, attention and residual, and of norm, feed-forward block and residual:
  // forward keeps what the second begins with, and its result, for the loss.
  void the_documents_two_regions_keep_their_inputs_alone() {
    const Plan plan = compile({system_run("workshop_memory_document", small_layer), reference_host()});
    QCOMPARE(kept_for_backward(plan), (std::set<std::string>{"residual", "residual_1"}));
    const auto reads_input = [](const Task& task, const Plan& of) {
      return std::ranges::any_of(task.inputs, [&](int input) {
        return of.graph->values[of.program.values[input].graph_value].name == "inputs";
      });
    };
    QVERIFY(std::ranges::any_of(plan.program.tasks, [&](const Task& task) {
      return task.phase == Phase::backward && reads_input(task, plan);
    }));
    std::vector<std::string> kept = small_layer;
    kept.emplace_back("schedule.rematerialise=none");
    const Plan all = compile({system_run("workshop_memory_document", kept), reference_host()});
    QVERIFY(kept_for_backward(all).size() > 10);
    QVERIFY(activations(plan) < activations(all));
    QCOMPARE(losses_of(train_in_threads(plan, 2)), losses_of(train_in_threads(all, 2)));
  }

  void the_documents_selective_layer_makes_attention_again_alone() {
    const Plan plan = compile({system_run("workshop_selective_document", small_layer), reference_host()});
    for (const std::string& name : kept_for_backward(plan)) {
      const bool of_attention = name.starts_with("qkv_proj") || name.starts_with("unstack") ||
                                name.starts_with("attention") || name.starts_with("context");
      QVERIFY2(!of_attention, name.c_str());
    }
    QVERIFY(kept_for_backward(plan).contains("output_proj/add"));
    QVERIFY(kept_for_backward(plan).contains("gelu"));
    for (const Op& op : plan.graph->ops) {
      QVERIFY2(op.name.find("residual") == std::string::npos && op.name.find("ln1") == std::string::npos &&
                   op.name.find("ln2") == std::string::npos,
               op.name.c_str());
    }
  }

  void making_again_is_the_fourth_phase_of_what_a_rank_measures() {
    for (const bool again : {false, true}) {
      const Plan plan = deep(again ? ScheduleConfig{1, "full", 1} : ScheduleConfig{});
      const ThreadTraining training = train_in_threads(plan, 1);
      const auto recompute = static_cast<size_t>(Phase::recompute);
      QCOMPARE(recompute, size_t{3});
      QCOMPARE(training.ranks[0].busy_ms[recompute] > 0, again);
      QVERIFY(training.ranks[0].busy_ms[static_cast<size_t>(Phase::forward)] > 0);
    }
  }

  // T. Chen et al., 2016: of n layers only what each hands on is kept, and one is recomputed at a time.
  void full_keeps_what_layers_hand_on_and_one_layer() {
    const Plan kept = deep({}), full = deep({1, "full", 1});
    QVERIFY(activations(full) < activations(kept) / 4);
    QVERIFY(full.totals.flops_per_device > kept.totals.flops_per_device * 1.2);
    QVERIFY(full.totals.flops_per_device < kept.totals.flops_per_device * 4 / 3);
    QVERIFY(activations(deep({1, "attention", 1})) < activations(kept));
    QVERIFY(activations(deep({1, "mlp", 1})) < activations(kept));
  }

  void a_policy_that_means_nothing_of_the_model_is_a_located_error() {
    const auto error = [](const std::string& name, const std::string& policy) {
      const SystemPreset& preset = system_preset(name);
      const std::vector<int64_t> alone(static_cast<size_t>(preset.mesh_axes), 1);
      const std::vector<Error> errors =
          validate(config_of(preset, alone, LayoutMode::as_written, ScheduleConfig{1, policy, 1}));
      return errors.size() == 1 && to_string(errors[0].place) == "schedule.rematerialise" ? errors[0] : Error{};
    };
    QVERIFY(error("mintext_mlp", "full").message.find("no layers") != std::string::npos);
    QVERIFY(error("tiny_lm_dp", "ful").hint.find("'full'") != std::string::npos);
    QVERIFY(error("tiny_lm_dp", "**/gulu").hint.find("gelu") != std::string::npos);
    for (const char* list : {"{mlp,**/gulu}", "{**/gulu,**/gelu,attention}"})
      QVERIFY(error("tiny_lm_dp", list).message.ends_with("'**/gulu'"));
    QVERIFY(error("mintext_mlp", "{**/relu,mlp}").message.find("'mlp'") != std::string::npos);
    QVERIFY(error("tiny_lm_dp", "{mlp,none}").message.find("'none'") != std::string::npos);
  }
};

REGISTER_TEST(RematerialisationTest)

}  // namespace rematerialisation_test

#include "rematerialisation_test.moc"
