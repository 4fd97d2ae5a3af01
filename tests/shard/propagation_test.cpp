#include "engine/shard/propagation.h"

#include <QTest>
#include <algorithm>

#include "tests/shard/random_graph.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int graph_count = 300;

struct Put {
  ValueId value;
  int dim;
  AxisIndex axis;
  OpId op;
};

std::vector<Sharding> layouts_of(const RandomGraph& one, std::vector<Put>* heard = nullptr) {
  return propagate(one.graph, one.mesh, one.rules, one.pins, [&](ValueId value, int dim, AxisIndex axis, OpId op) {
    if (heard) heard->push_back({value, dim, axis, op});
  });
}

// An einsum "ij,jk->ik" of x (8, 8) and w (8, 8), then gelu.
RandomGraph product(const Mesh& mesh) {
  RandomGraph one;
  one.mesh = mesh;
  ValueId x = one.graph.add_source("x", {{8, 8}, DType::f32}, ValueKind::input);
  ValueId w = one.graph.add_source("w", {{8, 8}, DType::f32}, ValueKind::parameter);
  OpId op = one.graph.add_op(op_definition("einsum"), "product", Phase::forward, {x, w},
                             {{"equation", std::string("ij,jk->ik")}});
  one.graph.add_op(op_definition("gelu"), "gelu", Phase::forward, {one.graph.ops[op].outputs[0]});
  for (const Op& each : one.graph.ops) {
    std::vector<TensorType> operands, results;
    for (ValueId input : each.inputs) operands.push_back(one.graph.type(input));
    for (ValueId output : each.outputs) results.push_back(one.graph.type(output));
    one.rules.push_back(each.definition->factors(each.attributes, operands, results));
  }
  one.pins.resize(one.graph.values.size());
  return one;
}

Sharding rows(std::initializer_list<AxisIndex> first, std::initializer_list<AxisIndex> second) {
  Sharding sharding = Sharding::replicated(2);
  for (AxisIndex axis : first) sharding.dims[0].push_back(axis);
  for (AxisIndex axis : second) sharding.dims[1].push_back(axis);
  return sharding;
}

}  // namespace

class PropagationTest : public QObject {
  Q_OBJECT

 private slots:
  void layouts_divide_and_use_each_axis_once() {
    RandomGraphs graphs(1);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const std::vector<Sharding> layouts = layouts_of(one);
      QCOMPARE(layouts.size(), one.graph.values.size());
      for (size_t v = 0; v < layouts.size(); ++v) {
        QVERIFY(divides(layouts[v], one.mesh, one.graph.values[v].type.shape));
        QCOMPARE(layouts[v].partial, uint8_t{0});
        unsigned used = 0;
        for (int d = 0; d < layouts[v].rank; ++d) {
          for (AxisIndex axis : layouts[v].dims[d]) {
            QVERIFY(!((used >> axis) & 1));
            used |= 1u << axis;
          }
        }
      }
    }
  }

  void pins_stay() {
    RandomGraphs graphs(2);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const std::vector<Sharding> layouts = layouts_of(one);
      for (size_t v = 0; v < layouts.size(); ++v) {
        if (one.pins[v]) QVERIFY(layouts[v] == *one.pins[v]);
      }
    }
  }

  void the_observer_hears_of_every_axis_and_of_an_op_that_brought_it() {
    RandomGraphs graphs(3);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      std::vector<Put> heard;
      const std::vector<Sharding> layouts = layouts_of(one, &heard);
      std::vector<Sharding> replayed;
      for (size_t v = 0; v < layouts.size(); ++v) {
        replayed.push_back(one.pins[v] ? *one.pins[v] : Sharding::replicated(layouts[v].rank));
      }
      for (const Put& put : heard) {
        replayed[put.value].dims[put.dim].push_back(put.axis);
        const Op& op = one.graph.ops[put.op];
        QVERIFY(op.phase == Phase::forward);
        QVERIFY(std::count(op.inputs.begin(), op.inputs.end(), put.value) +
                std::count(op.outputs.begin(), op.outputs.end(), put.value));
      }
      QVERIFY(replayed == layouts);
    }
  }

  void the_same_graph_has_the_same_layouts() {
    RandomGraphs first(4), second(4);
    for (int i = 0; i < graph_count; ++i) QVERIFY(layouts_of(first.next()) == layouts_of(second.next()));
  }

  void nothing_pinned_means_nothing_split() {
    RandomGraphs graphs(5);
    for (int i = 0; i < 20; ++i) {
      RandomGraph one = graphs.next();
      one.pins.assign(one.pins.size(), std::nullopt);
      for (const Sharding& layout : layouts_of(one)) QVERIFY(layout == Sharding::replicated(layout.rank));
    }
  }

  void a_second_run_from_its_result_changes_nothing() {
    RandomGraphs graphs(6);
    for (int i = 0; i < graph_count; ++i) {
      RandomGraph one = graphs.next();
      const std::vector<Sharding> layouts = layouts_of(one);
      for (size_t v = 0; v < layouts.size(); ++v) one.pins[v] = layouts[v];
      std::vector<Put> heard;
      QVERIFY(layouts_of(one, &heard) == layouts);
      QVERIFY(heard.empty());
    }
  }

  void rows_and_columns_pass_a_product_and_contracted_dimensions_do_not() {
    RandomGraph one = product(Mesh({{"a", 2}, {"b", 2}}));
    one.pins[0] = rows({0}, {});
    one.pins[1] = rows({}, {1});
    const std::vector<Sharding> layouts = layouts_of(one);
    QVERIFY(layouts[2] == rows({0}, {1}));
    QVERIFY(layouts[3] == rows({0}, {1}));

    one.pins[0] = rows({}, {0});
    one.pins[1] = rows({0}, {});
    QVERIFY(layouts_of(one)[2] == rows({}, {}));
  }

  void where_two_lists_disagree_their_common_major_part_is_taken() {
    RandomGraph one = product(Mesh({{"a", 2}, {"b", 2}, {"c", 2}}));
    one.pins[0] = rows({0, 1}, {});
    one.pins[3] = rows({0, 2}, {});
    QVERIFY(layouts_of(one)[2].dims[0].starts_with(rows({0}, {}).dims[0]));
  }

  void an_axis_that_does_not_divide_or_is_taken_is_not_put() {
    RandomGraph one = product(Mesh({{"a", 3}, {"b", 2}}));
    one.pins[0] = rows({1}, {});
    one.pins[1] = rows({}, {1});
    QVERIFY(layouts_of(one)[2] == rows({1}, {}));
  }
};

QTEST_APPLESS_MAIN(PropagationTest)
#include "propagation_test.moc"
