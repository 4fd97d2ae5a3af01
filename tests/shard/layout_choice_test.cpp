#include "engine/shard/layout_choice.h"

#include <QTest>
#include <algorithm>

#include "engine/shard/lowering.h"
#include "engine/shard/op_classes.h"
#include "engine/shard/propagation.h"
#include "tests/machine/host_rates.h"
#include "tests/shard/prices_of.h"
#include "tests/shard/random_graph.h"
#include "tests/test_program.h"

namespace layout_choice_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int graph_count = 200;

LayoutProblem problem_of(const RandomGraph& one) { return {one.graph, one.mesh, one.pins, prices_of(one.mesh)}; }

LayoutProblem problem_with_start(const RandomGraph& one) {
  LayoutProblem problem = problem_of(one);
  const std::vector<Sharding> propagated = propagate(one.graph, one.mesh, one.pins);
  problem.start = written_placements(one.graph, one.mesh,
                                     written_layouts(one.graph, one.mesh, one.pins, propagated, one.cotangents));
  return problem;
}

bool gives_up(const LayoutChoice& choice) {
  return std::find(choice.reshard_after_forward.begin(), choice.reshard_after_forward.end(), true) !=
         choice.reshard_after_forward.end();
}

}  // namespace

class LayoutChoiceTest : public QObject {
  Q_OBJECT

 private slots:
  void ops_of_a_class_are_of_one_kind_and_start_alike() {
    RandomGraphs graphs(1);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const LayoutProblem problem = problem_with_start(one);
      const OpKinds kinds = op_kinds(one.graph);
      const OpClasses classes = op_classes(problem, kinds);
      std::vector<int> size(classes.first.size());
      for (size_t op = 0; op < one.graph.ops.size(); ++op) {
        const OpId first = classes.first[classes.of_op[op]];
        ++size[classes.of_op[op]];
        QCOMPARE(kinds.of_op[op], kinds.of_op[first]);
        QVERIFY(problem.start.placements[op] == problem.start.placements[first]);
        QVERIFY(one.graph.ops[op].definition == one.graph.ops[first].definition);
      }
      QVERIFY(size == classes.size);
    }
  }

  void every_op_has_a_legal_choice_and_runners_up_are_others() {
    RandomGraphs graphs(2);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const LayoutChoice choice = choose_layouts(problem_with_start(one));
      QCOMPARE(choice.size(), one.graph.ops.size());
      for (size_t op = 0; op < choice.size(); ++op) {
        QVERIFY(is_legal(one.graph.rule(op), choice[op].placement, one.mesh));
        if (choice[op].runner_up) QVERIFY(!(*choice[op].runner_up == choice[op].placement));
      }
    }
  }

  void a_search_that_starts_as_written_ends_no_dearer() {
    RandomGraphs graphs(3);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const LayoutChoice choice = choose_layouts(problem_with_start(one));
      QVERIFY(choice.seconds <= choice.start_seconds * (1 + 1e-9));
    }
  }

  void without_a_limit_nothing_is_given_up_for_memory() {
    RandomGraphs graphs(4);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      QVERIFY(!gives_up(choose_layouts(problem_with_start(one))));
    }
  }

  void a_request_to_stop_gives_no_choice() {
    RandomGraphs graphs(7);
    const RandomGraph one = graphs.next();
    std::stop_source source;
    source.request_stop();
    QVERIFY(choose_layouts(problem_of(one), {}, source.get_token()).empty());
  }

  // A kernel that is laid out as [b, a] on a dimension that a product splits over both: its order is taken over, and
  // nothing moves.
  void the_orders_of_axes_that_pins_use_are_tried() {
    RandomGraph one;
    one.mesh = Mesh({{"a", 2}, {"b", 2}});
    const TensorType type{{64, 64}, DType::f32};
    const ValueId x = one.graph.add_input("x", type), w = add_parameter(one.graph, "w", type.shape);
    const OpId product =
        one.graph.add_op(op_definition("einsum"), "product", Phase::forward, {x, w}, EquationAttributes{"ij,jk->ik"});
    one.pins.resize(one.graph.values.size());
    one.pins[x] = Sharding::replicated(2);
    one.pins[w] = Sharding::replicated(2);
    for (AxisIndex axis : {1, 0}) one.pins[w]->dims[1].push_back(axis);
    one.pin_states();
    Machine slow = reference_host();
    product_rate(slow) = 1e6;
    const WorkPrices prices(slow, one.mesh);
    const LayoutProblem problem{one.graph, one.mesh, one.pins, prices};
    const LayoutChoice choice = choose_layouts(problem);
    QVERIFY(operand_sharding(one.graph.rule(product), choice[product].placement, 1) == *one.pins[w]);
    const Program program = lower(problem, choice).program;
    for (const Instruction& instruction : program.main_instructions())
      QVERIFY(instruction.kind() == InstructionKind::compute);
  }
};

REGISTER_TEST(LayoutChoiceTest)

}  // namespace layout_choice_test

#include "layout_choice_test.moc"
