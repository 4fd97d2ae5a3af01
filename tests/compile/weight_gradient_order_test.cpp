#include "engine/plan/weight_gradient_order.h"

#include <QTest>
#include <algorithm>
#include <set>

#include "engine/config/strategy.h"
#include "engine/config/write.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/machine_library.h"
#include "engine/plan/stages.h"
#include "tests/compile/system_preset.h"
#include "tests/config/random_strategy.h"
#include "tests/test_program.h"

namespace weight_gradient_order_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

RunConfig config_of(const std::string& preset, const StrategyConfig& strategy, const char* overlap) {
  RunConfig config = system_run(preset, system_preset(preset).small);
  config.mesh_axes.clear();
  config.sharding = {};
  config.sharding.mode = LayoutMode::as_written;
  config = with_strategy(std::move(config), strategy);
  return with_settings(std::move(config), {std::string("schedule.overlap=") + overlap});
}

// As lowering lists it.
Plan listed(const RunConfig& config) { return compile({config, *library_machine("dgx_h100")}); }

// What tells an instruction apart: its results, or what it sends, and whether it is a start.
std::pair<std::vector<int>, InstructionKind> identity(const Instruction& instruction) {
  std::span<const int> values = instruction.destinations();
  if (instruction.as<Send>()) values = instruction.operands();
  if (const CollectiveDone* done = instruction.as<CollectiveDone>()) values = done->results;
  return {{values.begin(), values.end()}, instruction.kind()};
}

using Identities = std::vector<std::pair<std::vector<int>, InstructionKind>>;
Identities identities(const Task& task, const Graph& graph, const std::vector<bool>& left_out) {
  Identities all;
  for (const Instruction& instruction : task.instructions) {
    const bool computes = instruction.as<Compute>() && instruction.op != no_id;
    if (left_out.empty() || (computes && !left_out[static_cast<size_t>(instruction.op)] &&
                             !graph.ops[static_cast<size_t>(instruction.op)].definition->accumulates()))
      all.push_back(identity(instruction));
  }
  return all;
}

// Programs of random strategies.
template <class Visit>
int visit_random_plans(const char* overlap, int count, const Visit& visit) {
  RandomStrategies strategies(29, 8);
  int planned = 0;
  for (int i = 0; planned < count && i < 20 * count; ++i) {
    const SystemPreset& preset = system_presets()[static_cast<size_t>(strategies.below(19))];
    RunConfig config = config_of(preset.name, strategies.next(), overlap);
    if (!validate(config).empty()) continue;
    try {
      visit(config, listed(config));
    } catch (const Failure&) {
      continue;
    }
    ++planned;
  }
  return planned;
}

}  // namespace

class WeightGradientOrderTest : public QObject {
  Q_OBJECT

 private slots:
  void gradients_of_parameters_alone_change_their_place_and_programs_stay_sound() {
    int moved = 0;
    const int planned = visit_random_plans("off", 120, [&](const RunConfig& config, const Plan& plan) {
      const Graph& graph = *plan.graph;
      Program program = plan.program;
      for (Task& task : program.tasks) task.order = {};
      const std::vector<Task> before = program.tasks;
      InstructionTable<double> seconds = plan.instruction_seconds;
      list_in(weight_gradient_orders(program, graph), program, seconds);
      const std::vector<bool> of_weights = weight_gradient_ops(graph);
      for (size_t t = 0; t < before.size(); ++t) {
        const Identities was = identities(before[t], graph, {}), is = identities(program.tasks[t], graph, {});
        moved += was != is;
        QCOMPARE(std::multiset(is.begin(), is.end()), std::multiset(was.begin(), was.end()));
        QVERIFY2(identities(before[t], graph, of_weights) == identities(program.tasks[t], graph, of_weights),
                 write_run_config(config).c_str());
      }
      verify(program, graph, plan.mesh);
    });
    QVERIFY2(planned >= 60 && moved >= 20, qPrintable(QString("%1 %2").arg(planned).arg(moved)));
  }

  // Beside every sum of input gradients over `tensor` a layer's gradients of parameters are computed.
  void tensor_parallel_layers_compute_gradients_of_parameters_beside_their_sums() {
    for (const bool sequence_parallel : {false, true}) {
      StrategyConfig strategy;
      strategy.tensor = 2;
      strategy.microbatch_size = 4;
      strategy.sequence_parallel = sequence_parallel;
      const Plan plan = listed(config_of("llama_tiny", strategy, "auto"));
      const std::vector<bool> of_weights = weight_gradient_ops(*plan.graph);
      int sums = 0;
      for (const Task& task : plan.program.tasks) {
        for (int place = 0; place < task.size(); ++place) {
          const CollectiveStart* start = task.issued(place).as<CollectiveStart>();
          if (!start || task.phase != Phase::backward || start->kind == InstructionKind::all_gather) continue;
          const Value& summed = plan.graph->values[static_cast<size_t>(
              plan.program.values[static_cast<size_t>(start->operands.front())].graph_value)];
          if (plan.graph->ops[static_cast<size_t>(summed.producer)].place.layer < 0) continue;
          int products = 0;
          for (int next = place + 1; !task.issued(next).as<CollectiveDone>(); ++next) {
            const Instruction& beside = task.issued(next);
            products += beside.as<Compute>() && of_weights[static_cast<size_t>(beside.op)] &&
                        plan.graph->ops[static_cast<size_t>(beside.op)].definition->is_matrix_product();
          }
          QVERIFY2(products >= 1, summed.name.c_str());
          ++sums;
        }
      }
      QVERIFY(sums >= 2 * 2);
    }
  }

  void where_backward_waits_for_no_transfer_of_its_own_nothing_moves() {
    for (const SystemPreset& preset : system_presets()) {
      StrategyConfig strategy;
      strategy.data = 4;
      const RunConfig config = config_of(preset.name, strategy, "off");
      if (!validate(config).empty()) continue;
      const Plan plan = listed(config);
      QVERIFY2(weight_gradient_orders(plan.program, *plan.graph).empty(), preset.name.c_str());
    }
  }
};

REGISTER_TEST(WeightGradientOrderTest)

}  // namespace weight_gradient_order_test

#include "weight_gradient_order_test.moc"
