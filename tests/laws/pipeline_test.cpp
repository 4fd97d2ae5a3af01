#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>
#include <array>
#include <set>

#include "engine/config/write.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/value_lives.h"
#include "tests/laws/pipeline_case.h"
#include "tests/laws/stage_memory.h"
#include "tests/test_program.h"

namespace pipeline_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

const std::vector<std::string> schedules{"gpipe", "1f1b", "interleaved", "zero_bubble"};
const std::vector<std::string> policies{"none", "full", "attention", "mlp"};

using Choice = std::array<int, 6>;  // schedule, mesh, microbatches, policy, ZeRO stage, mode

const std::vector<std::pair<int64_t, std::vector<int64_t>>>& meshes() {
  static const std::vector<std::pair<int64_t, std::vector<int64_t>>> all{
      {2, {1, 1}}, {2, {2, 1}}, {2, {1, 2}}, {4, {1, 1}}, {2, {2, 2}}, {4, {2, 1}}, {4, {1, 2}}, {2, {4, 1}}};
  return all;
}

PipelineCase case_of(const Choice& choice) {
  const auto& [stages, mesh] = meshes()[static_cast<size_t>(choice[1])];
  return {schedules[static_cast<size_t>(choice[0])],
          stages,
          mesh,
          int64_t{1} << choice[2],
          policies[static_cast<size_t>(choice[3])],
          choice[4],
          choice[5] == 0 ? LayoutMode::fastest : LayoutMode::as_written};
}

// What makes a combination illegal does not depend on the policy, ZeRO or mode.
bool is_legal(const Choice& choice) {
  static std::map<std::array<int, 3>, bool> known;
  const auto [entry, added] = known.try_emplace({choice[0], choice[1], choice[2]});
  if (added) {
    entry->second = validate(in_stages(four_layers(), case_of({choice[0], choice[1], choice[2], 0, 0, 0}))).empty();
  }
  return entry->second;
}

using Pair = std::array<int, 4>;  // two fields, and what they are
std::vector<Pair> pairs_of(const Choice& choice) {
  std::vector<Pair> pairs;
  for (int a = 0; a < 6; ++a) {
    for (int b = a + 1; b < 6; ++b) pairs.push_back({a, choice[a], b, choice[b]});
  }
  return pairs;
}

// Few choices in which each legal pair of two fields occurs.
std::vector<Choice> pairwise() {
  std::vector<Choice> legal;
  std::set<Pair> wanted;
  const Choice sizes{4, 8, 4, 4, 4, 2};
  for (int index = 0; index < 4 * 8 * 4 * 4 * 4 * 2; ++index) {
    Choice choice{};
    for (int field = 0, rest = index; field < 6; ++field) choice[field] = rest % sizes[field], rest /= sizes[field];
    if (!is_legal(choice)) continue;
    legal.push_back(choice);
    for (const Pair& pair : pairs_of(choice)) wanted.insert(pair);
  }
  std::vector<Choice> chosen;
  while (!wanted.empty()) {
    const auto gain = [&](const Choice& choice) {
      const std::vector<Pair> pairs = pairs_of(choice);
      return std::ranges::count_if(pairs, [&](const Pair& pair) { return wanted.contains(pair); });
    };
    chosen.push_back(*std::ranges::max_element(legal, {}, gain));
    for (const Pair& pair : pairs_of(chosen.back())) wanted.erase(pair);
  }
  return chosen;
}

const ThreadTraining& alone(const RunConfig& config) {
  static std::map<std::string, ThreadTraining> known;
  RunConfig whole = config;
  whole.pipeline = {};
  whole.schedule = {};
  whole.sharding.zero = {};
  for (MeshAxis& axis : whole.mesh_axes) axis.size = 1;
  const auto [entry, added] = known.try_emplace(write_run_config(whole));
  if (added) entry->second = train_in_threads(compile({whole, reference_host()}), serial_steps);
  return entry->second;
}

Plan check(const RunConfig& config) {
  Plan plan = compile({config, reference_host()});
  const ThreadTraining training = train_in_threads(plan, serial_steps);
  compare_with_serial(training, alone(config), 1e-3, is_key_bias);
  compare_with_prediction(training, plan);
  check_stage_memory(plan);
  return plan;
}

}  // namespace

class PipelineTest : public QObject {
  Q_OBJECT

 private slots:
  void stages_train_as_one_device_data() {
    QTest::addColumn<int>("index");
    const std::vector<Choice> chosen = pairwise();
    QVERIFY(chosen.size() >= 32);
    for (size_t i = 0; i < chosen.size(); ++i) {
      QTest::newRow(case_of(chosen[i]).text().c_str()) << static_cast<int>(i);
    }
  }
  void stages_train_as_one_device() {
    QFETCH(int, index);
    static const std::vector<Choice> chosen = pairwise();
    check(in_stages(four_layers(), case_of(chosen[static_cast<size_t>(index)])));
  }

  void one_f_one_b_holds_no_more_microbatches_than_stages_behind_it() {
    for (int64_t stages : {2, 4}) {
      const RunConfig config = in_stages(four_layers(), {"1f1b", stages, {1, 1}, 8, "none", 0, LayoutMode::fastest});
      const Plan plan = compile({config, reference_host()});
      for (int stage = 0; stage < plan.program.stages; ++stage) {
        QCOMPARE(plan.pipeline.in_flight[stage], static_cast<int>(stages) - stage);
        for (const ValueLife& life : value_lives(plan.program, *plan.graph, stage)) {
          QVERIFY(life.slot_count <= static_cast<int>(stages) - stage);
        }
      }
    }
  }

  // The table is stored where it is looked up, crosses to the last stage once a step, and its gradient comes back once.
  void tied_weights_train_as_on_one_device() {
    for (const char* schedule : {"1f1b", "zero_bubble"}) {
      for (int64_t microbatches : {1, 4}) {
        const RunConfig config = four_layers({"model.tied_embedding=true"});
        const Plan plan =
            check(in_stages(config, {schedule, 4, {2, 1}, microbatches, "none", 0, LayoutMode::as_written}));
        const double table = 64 * 32 * 4;
        const auto sent = [&](int from, int to) {
          double bytes = 0;
          for (const Instruction& instruction : plan.instructions(from)) {
            if (instruction.kind() == InstructionKind::send && plan.program.channels[instruction.channel()].to == to)
              bytes += instruction.wire_bytes();
          }
          return bytes;
        };
        QVERIFY(sent(0, 3) >= table && sent(0, 3) < table + 64);
        QVERIFY(sent(3, 0) >= table && sent(3, 0) < table + 64);  // and the loss
      }
    }
  }

  void what_one_pipeline_saves_any_other_loads_bit_for_bit() {
    const std::vector<PipelineCase> cases{{"1f1b", 2, {2, 1}, 4, "none", 1, LayoutMode::fastest},
                                          {"gpipe", 4, {1, 2}, 2, "full", 0, LayoutMode::as_written},
                                          {"zero_bubble", 2, {1, 1}, 4, "none", 3, LayoutMode::fastest},
                                          {"interleaved", 2, {2, 2}, 4, "mlp", 2, LayoutMode::fastest},
                                          {"1f1b", 1, {4, 1}, 1, "none", 0, LayoutMode::fastest}};
    std::vector<Plan> plans;
    for (const PipelineCase& one : cases) plans.push_back(compile({in_stages(four_layers(), one), reference_host()}));
    for (size_t writer = 0; writer < plans.size(); ++writer) {
      QTemporaryDir folder;
      CheckpointOptions save, load;
      save.folder = load.resume = folder.path().toStdString();
      const ThreadTraining saved = train_in_threads(plans[writer], 2, {}, {}, {}, save);
      for (const Plan& reader : plans) {
        const ThreadTraining loaded = train_in_threads(reader, 2, {}, {}, {}, load);
        QVERIFY(loaded.steps.empty() && loaded.replicas_equal);
        QVERIFY(loaded.parameters == saved.parameters && loaded.optimizer == saved.optimizer);
      }
      const ThreadTraining whole = train_in_threads(plans[writer], 4);
      const ThreadTraining rest = train_in_threads(plans[writer], 4, {}, {}, {}, load);
      QCOMPARE(rest.steps.size(), size_t{2});
      QVERIFY(rest.parameters == whole.parameters && rest.optimizer == whole.optimizer);
    }
  }

  void the_presets_of_schedules_train_as_without_them_data() {
    QTest::addColumn<QString>("preset");
    for (const char* name : {"workshop_gpipe", "workshop_1f1b", "workshop_interleaved", "workshop_zero_bubble"}) {
      QTest::newRow(name) << name;
    }
  }
  void the_presets_of_schedules_train_as_without_them() {
    QFETCH(QString, preset);
    const RunConfig config = system_run(preset.toStdString(), {"steps=3"});
    const Plan plan = check(config);
    QVERIFY(plan.program.stages > 1);
    QCOMPARE(plan.pipeline.shape.microbatches, 4);
  }

  void sixteen_ranks_train_as_one() {
    const RunConfig config =
        system_run("workshop_3d", {"model.num_layers=4", "model.hidden_size=128", "model.ffn_hidden_size=256",
                                   "model.seq_len=16", "pipeline.layers=[2, 2]"});
    QCOMPARE(check(config).mesh.device_count(), 16);
  }

  void dropout_and_clipping_are_those_of_the_whole() {
    const RunConfig config =
        four_layers({"deterministic=false", "model.dropout_rate=0.5", "optimizer.clip_by_global_norm=0.1"});
    check(in_stages(config, {"1f1b", 2, {2, 1}, 4, "full", 1, LayoutMode::fastest}));
  }
};

REGISTER_TEST(PipelineTest)

}  // namespace pipeline_test

#include "pipeline_test.moc"
