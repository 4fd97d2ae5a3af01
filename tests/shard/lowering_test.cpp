#include "engine/shard/lowering.h"

#include <QTest>
#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "tests/shard/random_graph.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int graph_count = 200;

LayoutProblem problem_of(const RandomGraph& one) { return {one.graph, one.mesh, one.rules, one.pins, CostRates{}}; }

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
      for (const Step& step : program.steps) {
        if (step.kind != StepKind::compute) continue;
        ++done[step.op];
        const Op& op = one.graph.ops[step.op];
        for (size_t j = 0; j < op.inputs.size(); ++j) {
          const ProgramValue& operand = program.values[step.inputs[j]];
          QCOMPARE(operand.graph_value, op.inputs[j]);
          QVERIFY(operand.sharding ==
                  operand_sharding(one.rules[step.op], choices[step.op].placement, static_cast<int>(j)));
        }
        for (size_t j = 0; j < op.outputs.size(); ++j) {
          QCOMPARE(program.values[step.outputs[j]].graph_value, op.outputs[j]);
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
        const bool gradient = std::any_of(one.graph.parameters.begin(), one.graph.parameters.end(),
                                          [&](const Parameter& p) { return p.gradient == value.graph_value; });
        std::vector<Sharding>& layouts = made[value.graph_value];
        const bool again = std::find(layouts.begin(), layouts.end(), value.sharding) != layouts.end();
        QVERIFY2(!again || remade || gradient, value.name.c_str());
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
      for (const Step& step : lowered(one).program.steps) {
        updating |= step.kind == StepKind::compute && step.phase == Phase::update;
        QVERIFY(!updating || step.kind == StepKind::compute);
        if (step.phase == Phase::update && step.kind == StepKind::all_reduce) ++sums[step.axes];
      }
      for (const auto& [axes, count] : sums) QVERIFY(count <= one.mesh.axis_count() + 1);
    }
  }

  void every_reshard_has_a_cause_that_names_its_reader() {
    RandomGraphs graphs(6);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      for (const Step& step : lowered(one).program.steps) {
        if (step.kind == StepKind::compute) continue;
        QVERIFY(step.cause.find(one.graph.ops[step.op].name) != std::string::npos);
        QCOMPARE(static_cast<size_t>(std::count(step.cause.begin(), step.cause.end(), '\n')) + 1, step.inputs.size());
      }
    }
  }

  void a_request_to_stop_gives_no_choice() {
    RandomGraphs graphs(8);
    const RandomGraph one = graphs.next();
    std::stop_source source;
    source.request_stop();
    QVERIFY(choose_layouts(problem_of(one), source.get_token()).empty());
  }

  void broken_programs_are_found() {
    RandomGraphs graphs(9);
    int tried = 0;
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const Program program = lowered(one).program;
      Program late = program;
      std::reverse(late.steps.begin(), late.steps.end());
      QVERIFY_THROWS_EXCEPTION(Failure, verify(late, one.graph, one.mesh));
      Program resized = program;
      resized.values.front().local_shape[0] += 1;
      QVERIFY_THROWS_EXCEPTION(Failure, verify(resized, one.graph, one.mesh));
      for (const Step& step : program.steps) {
        if (step.kind != StepKind::compute || one.rules[step.op].linear || one.mesh.device_count() == 1) continue;
        Program partial = program;
        partial.values[step.inputs[0]].sharding.partial = 128;
        QVERIFY_THROWS_EXCEPTION(Failure, verify(partial, one.graph, one.mesh));
        ++tried;
        break;
      }
    }
    QVERIFY(tried > graph_count / 2);
  }
};

QTEST_APPLESS_MAIN(LoweringTest)
#include "lowering_test.moc"
