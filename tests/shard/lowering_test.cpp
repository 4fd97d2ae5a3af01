#include "engine/shard/lowering.h"

#include <QTest>
#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/program/program_text.h"
#include "tests/shard/prices_of.h"
#include "tests/shard/random_graph.h"
#include "tests/test_program.h"

namespace lowering_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int graph_count = 200;

LayoutProblem problem_of(const RandomGraph& one) { return {one.graph, one.mesh, one.pins, prices_of(one.mesh)}; }

Lowered lowered(const RandomGraph& one) {
  const LayoutProblem problem = problem_of(one);
  return lower(problem, choose_layouts(problem));
}

}  // namespace

class LoweringTest : public QObject {
  Q_OBJECT

 private slots:
  void every_program_is_sound() {
    RandomGraphs graphs(1);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      verify(lowered(one).program, one.graph, one.mesh);
    }
  }

  void every_op_is_done_once_on_what_it_asks_for() {
    RandomGraphs graphs(2);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const LayoutProblem problem = problem_of(one);
      const LayoutChoice choices = choose_layouts(problem);
      const Program program = lower(problem, choices).program;
      std::vector<int> done(one.graph.ops.size());
      for (const Task& task : program.tasks) {
        for (const Instruction& instruction : task.instructions) {
          if (instruction.kind() != InstructionKind::compute) continue;
          ++done[instruction.op];
          const Op& op = one.graph.ops[instruction.op];
          QCOMPARE(op.phase, task.phase);
          for (size_t j = 0; j < op.inputs.size(); ++j) {
            const ProgramValue& operand = program.values[instruction.operands()[j]];
            QCOMPARE(operand.graph_value, op.inputs[j]);
            QVERIFY(operand.sharding == operand_sharding(one.graph.rule(instruction.op),
                                                         choices[instruction.op].placement, static_cast<int>(j)));
          }
          for (size_t j = 0; j < op.outputs.size(); ++j) {
            QCOMPARE(program.values[instruction.results()[j]].graph_value, op.outputs[j]);
          }
        }
      }
      QVERIFY(std::all_of(done.begin(), done.end(), [](int times) { return times == 1; }));
    }
  }

  void what_is_pinned_is_defined_as_it_is_pinned() {
    RandomGraphs graphs(3);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const Lowered result = lowered(one);
      for (size_t v = 0; v < one.pins.size(); ++v) {
        if (one.pins[v]) QVERIFY(result.program.values[result.defined[v]].sharding == *one.pins[v]);
      }
    }
  }

  // But for pinned results, whose first layout is given up, and gradients, whose reshards may wait for the step's end.
  void no_value_is_made_twice_in_one_layout() {
    RandomGraphs graphs(4);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const Lowered result = lowered(one);
      std::map<ValueId, std::vector<Sharding>> made;
      for (const ProgramValue& value : result.program.values) {
        const bool remade =
            one.pins[value.graph_value] && one.graph.values[value.graph_value].kind == ValueKind::result;
        const std::vector<ValueId> gradients = one.gradients();
        const bool gradient = std::find(gradients.begin(), gradients.end(), value.graph_value) != gradients.end();
        std::vector<Sharding>& layouts = made[value.graph_value];
        const bool again = std::find(layouts.begin(), layouts.end(), value.sharding) != layouts.end();
        QVERIFY2(!again || remade || gradient, one.graph.values[value.graph_value].name.c_str());
        layouts.push_back(value.sharding);
      }
    }
  }

  void small_gradients_are_summed_together_at_the_end() {
    RandomGraphs graphs(5);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      std::map<std::vector<AxisIndex>, int> sums;
      bool updating = false;
      const Program program = lowered(one).program;
      for (const Instruction& instruction : program.main_instructions()) {
        updating |= instruction.kind() == InstructionKind::compute && instruction.phase == Phase::update;
        QVERIFY(!updating || instruction.kind() == InstructionKind::compute);
        if (instruction.phase == Phase::update && instruction.kind() == InstructionKind::all_reduce)
          ++sums[{instruction.axes().begin(), instruction.axes().end()}];
      }
      for (const auto& [axes, count] : sums) QVERIFY(count <= one.mesh.axis_count() + 1);
    }
  }

  void tasks_name_what_they_take_from_each_other_and_what_stays() {
    RandomGraphs graphs(10);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const Lowered result = lowered(one);
      const std::vector<Task>& tasks = result.program.tasks;
      std::vector<int> maker(result.program.values.size(), -1);
      for (size_t t = 0; t < tasks.size(); ++t) {
        for (const Instruction& instruction : tasks[t].instructions) {
          for (int output : instruction.results()) maker[output] = static_cast<int>(t);
        }
      }
      const auto has = [](const std::vector<int>& values, int value) {
        return std::binary_search(values.begin(), values.end(), value);
      };
      for (size_t t = 0; t < tasks.size(); ++t) {
        for (int input : tasks[t].inputs) {
          QVERIFY(maker[input] != static_cast<int>(t));
          if (maker[input] >= 0) QVERIFY(has(tasks[maker[input]].outputs, input));
        }
        for (const Instruction& instruction : tasks[t].instructions) {
          for (int input : instruction.operands())
            QVERIFY(maker[input] == static_cast<int>(t) || has(tasks[t].inputs, input));
        }
      }
      for (const auto& [name, values] : result.reported) {
        QVERIFY(maker[values[0]] < 0 || has(tasks[0].outputs, values[0]));
      }
    }
  }

  void what_is_to_be_made_again_is_not_kept_from_task_to_task() {
    RandomGraphs graphs(11);
    int again = 0;
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const LayoutProblem problem = problem_of(one);
      const LayoutChoice choices = choose_layouts(problem);
      LayoutChoice resharded = choices;
      resharded.reshard_after_forward.assign(one.graph.values.size(), false);
      for (StateId id : one.graph.trainable()) resharded.reshard_after_forward[one.graph.states[id].before] = true;
      const Program program = lower(problem, resharded).program;
      verify(program, one.graph, one.mesh);
      for (const Task& task : program.tasks) {
        for (int input : task.inputs) {
          const ProgramValue& value = program.values[input];
          QVERIFY(!resharded.reshard_after_forward[value.graph_value] || !value.moved);
        }
      }
      again += program.values.size() > lower(problem, choices).program.values.size();
    }
    QVERIFY(again > graph_count / 10);
  }

  void every_reshard_has_a_cause_that_names_its_reader() {
    RandomGraphs graphs(6);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const Program program = lowered(one).program;
      for (const Instruction& instruction : program.main_instructions()) {
        if (instruction.kind() == InstructionKind::compute || instruction.as<CollectiveDone>()) continue;
        const std::string cause = ProgramText{program, one.graph, one.mesh}.cause(instruction);
        QVERIFY(cause.find(one.graph.ops[instruction.op].name) != std::string::npos);
        QCOMPARE(static_cast<size_t>(std::count(cause.begin(), cause.end(), '\n')) + 1, instruction.operands().size());
      }
    }
  }

  void a_request_to_stop_gives_no_choice() {
    RandomGraphs graphs(8);
    const RandomGraph one = graphs.next();
    std::stop_source source;
    source.request_stop();
    QVERIFY(choose_layouts(problem_of(one), {}, source.get_token()).empty());
  }

  void broken_programs_are_found() {
    RandomGraphs graphs(9);
    int tried = 0;
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const Program program = lowered(one).program;
      Program late = program;
      for (Task& task : late.tasks) std::reverse(task.instructions.begin(), task.instructions.end());
      QVERIFY_THROWS_EXCEPTION(Failure, verify(late, one.graph, one.mesh));
      Program resized = program;
      resized.values.front().local_shape[0] += 1;
      QVERIFY_THROWS_EXCEPTION(Failure, verify(resized, one.graph, one.mesh));
      for (const Instruction& instruction : program.main_instructions()) {
        if (instruction.kind() != InstructionKind::compute || one.graph.rule(instruction.op).linear ||
            one.mesh.device_count() == 1)
          continue;
        Program partial = program;
        partial.values[instruction.operands()[0]].sharding.partial = 128;
        QVERIFY_THROWS_EXCEPTION(Failure, verify(partial, one.graph, one.mesh));
        ++tried;
        break;
      }
    }
    QVERIFY(tried > graph_count / 2);
  }
};

REGISTER_TEST(LoweringTest)

}  // namespace lowering_test

#include "lowering_test.moc"
