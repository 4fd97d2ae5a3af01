#include <QTest>
#include <algorithm>
#include <map>
#include <set>

#include "engine/compile/settings.h"
#include "engine/config/strategy.h"
#include "engine/graph/op_definition.h"
#include "tests/base/errors_of.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace accumulators_test {

using namespace shardscope;
using namespace shardscope::test;

// Sums over the microbatches of a step, in the plans of all presets.
class AccumulatorsTest : public QObject {
  Q_OBJECT

  static bool adds_up(const Plan& plan, const Task& task) {
    return std::ranges::any_of(task.instructions,
                               [&](const Instruction& instruction) { return accumulates(instruction, *plan.graph); });
  }

  static Plan plan_of_two_microbatches(const std::string& preset) {
    std::vector<std::string> settings = system_preset(preset).small;
    std::erase_if(settings, [](const std::string& one) { return one.starts_with("mesh.pipeline"); });
    settings.emplace_back("schedule.microbatches=2");
    return compile(plan_request(system_run(preset, settings)));
  }

 private slots:
  void a_program_that_reads_a_sum_before_its_last_microbatch_is_refused_data() {
    QTest::addColumn<std::string>("preset");
    for (const SystemPreset& preset : system_presets()) QTest::newRow(preset.name.c_str()) << preset.name;
  }

  // The last run that adds to sums is put behind all others: the update then reads a part of them.
  void a_program_that_reads_a_sum_before_its_last_microbatch_is_refused() {
    QFETCH(std::string, preset);
    const Plan plan = plan_of_two_microbatches(preset);
    verify(plan.program, *plan.graph, plan.mesh);
    int planted = 0;
    for (size_t s = 0; s < plan.program.sequences.size(); ++s) {
      Program program = plan.program;
      Sequence& sequence = program.sequences[s];
      if (sequence.purpose != Purpose::train_step) continue;
      const auto last = std::ranges::find_if(sequence.runs.rbegin(), sequence.runs.rend(), [&](const TaskRun& run) {
        return adds_up(plan, program.tasks[run.task]);
      });
      QVERIFY(last != sequence.runs.rend());
      const TaskRun moved = *last;
      sequence.runs.erase(std::next(last).base());
      sequence.runs.push_back(moved);
      const Error error = error_of([&] { verify(program, *plan.graph, plan.mesh); });
      QCOMPARE(error.code, std::string("invalid_program"));
      QVERIFY2(error.message.find("before the last microbatch is added") != std::string::npos, error.message.c_str());
      ++planted;
    }
    QVERIFY(planted > 0);
  }

  void a_gradient_is_added_up_where_it_is_made_data() {
    a_program_that_reads_a_sum_before_its_last_microbatch_is_refused_data();
  }

  // So that no layer's gradients wait for those of all others.
  void a_gradient_is_added_up_where_it_is_made() {
    QFETCH(std::string, preset);
    const Plan plan = plan_of_two_microbatches(preset);
    const std::vector<Op>& ops = plan.graph->ops;
    int sums = 0;
    for (size_t id = 0; id < ops.size(); ++id) {
      if (!ops[id].definition->accumulates() || ops[id].phase != Phase::backward) continue;
      size_t maker = id - 1;
      while (ops[maker].definition->accumulates()) --maker;  // of another result of the same op
      QCOMPARE(plan.graph->values[ops[id].inputs[0]].producer, static_cast<OpId>(maker));
      ++sums;
    }
    QVERIFY(sums > 0);
  }

  // Of a parameter that several stages read each of them adds up a part, as of all others.
  void fsdp_and_zero_2_split_the_sums_of_a_shared_parameter_on_each_stage() {
    for (const std::string preset : {"gemma3_tiny", "tiny_text"}) {
      for (const std::string split : {"fsdp", "zero"}) {
        RunConfig config = system_run(preset, system_preset(preset).small, {1, 1});
        config.mesh_axes.clear();
        config.sharding = {};
        StrategyConfig strategy;
        strategy.pipeline = 2;
        strategy.microbatch_size = 2;
        (split == "fsdp" ? strategy.fsdp : strategy.data) = 4;
        if (split == "zero") strategy.zero = 2;
        config = with_strategy(std::move(config), strategy);
        if (preset == "tiny_text") config = with_settings(std::move(config), {"model.tied_embedding=true"});
        const Plan plan = compile(plan_request(config));
        const Graph& graph = *plan.graph;
        std::map<std::string, std::set<int>> stages;  // that add up gradients of a parameter, by its name
        for (const ProgramValue& value : plan.program.values) {
          const OpId maker = value.graph_value == no_id ? no_id : graph.values[value.graph_value].producer;
          if (maker == no_id || !graph.ops[maker].definition->accumulates()) continue;
          if (graph.ops[maker].phase != Phase::backward || element_count(value.shape) % 4 != 0) continue;
          QCOMPARE(element_count(value.local_shape), element_count(value.shape) / 4);
          stages[graph.ops[maker].name].insert(value.stage);
        }
        QVERIFY(std::ranges::any_of(stages, [](const auto& one) { return one.second.size() == 2; }));
      }
    }
  }
};

REGISTER_TEST(AccumulatorsTest)

}  // namespace accumulators_test

#include "accumulators_test.moc"
