#include "engine/shard/propagation.h"

#include <QTest>
#include <algorithm>

#include "tests/shard/random_graph.h"
#include "tests/test_program.h"

namespace propagation_test {

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

std::vector<Sharding> layouts_of(const RandomGraph& one, std::vector<Put>* received = nullptr) {
  return propagate(one.graph, one.mesh, one.pins, [&](ValueId value, int dim, AxisIndex axis, OpId op) {
    if (received) received->push_back({value, dim, axis, op});
  });
}

// Ops on inputs alone, appended to a graph on a mesh.
struct Bench {
  explicit Bench(const Mesh& mesh) { one.mesh = mesh; }
  ValueId input(Shape shape) {
    return one.graph.add_input("input " + std::to_string(one.graph.values.size()), {std::move(shape), DType::f32});
  }
  ValueId apply(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return one.graph
        .ops[one.graph.add_op(op_definition(op), op, Phase::forward, std::move(inputs), std::move(attributes))]
        .outputs[0];
  }
  RandomGraph done() {
    one.pins.resize(one.graph.values.size());
    return std::move(one);
  }
  RandomGraph one;
};

// An einsum "ij,jk->ik" of x (8, 8) and w (8, 8), then gelu.
RandomGraph product(const Mesh& mesh) {
  Bench bench(mesh);
  const ValueId x = bench.input({8, 8}), w = bench.input({8, 8});
  bench.apply("gelu", {bench.apply("einsum", {x, w}, EquationAttributes{"ij,jk->ik"})});
  return bench.done();
}

// x (4, 6, 24), its heads (4, 6, 4, 6), and x again, on a mesh a=2, b=2, c=3, u=1.
RandomGraph heads() {
  Bench bench(Mesh({{"a", 2}, {"b", 2}, {"c", 3}, {"u", 1}}));
  const ValueId x = bench.input({4, 6, 24});
  const ValueId split = bench.apply("rearrange", {x}, EquationAttributes{"bs(hd)->bshd", {{'h', 4}}});
  bench.apply("rearrange", {split}, EquationAttributes{"bshd->bs(hd)"});
  return bench.done();
}

AxisList axes(std::initializer_list<AxisIndex> list) {
  AxisList result;
  for (AxisIndex axis : list) result.push_back(axis);
  return result;
}

Sharding joined(std::initializer_list<AxisIndex> last) {
  Sharding sharding = Sharding::replicated(3);
  sharding.dims[2] = axes(last);
  return sharding;
}

Sharding split(std::initializer_list<AxisIndex> h, std::initializer_list<AxisIndex> d) {
  Sharding sharding = Sharding::replicated(4);
  sharding.dims[2] = axes(h);
  sharding.dims[3] = axes(d);
  return sharding;
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
      std::vector<Put> received;
      const std::vector<Sharding> layouts = layouts_of(one, &received);
      std::vector<Sharding> replayed;
      for (size_t v = 0; v < layouts.size(); ++v) {
        replayed.push_back(one.pins[v] ? *one.pins[v] : Sharding::replicated(layouts[v].rank));
      }
      for (const Put& put : received) {
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
      std::vector<Put> received;
      QVERIFY(layouts_of(one, &received) == layouts);
      QVERIFY(received.empty());
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

  // x is (h, d) = (4, 6): a and b split whole heads, c splits what is inside one.
  // x (8, 8) -> gelu -> + table (8) -> gelu, the table split: nothing else speaks of its dimension, or x does of rows.
  void what_is_broadcast_takes_layouts_at_once_and_gives_its_own_last() {
    const Mesh mesh({{"a", 4}});
    Bench bench(mesh);
    const ValueId x = bench.input({8, 8}), table = bench.input({8});
    const ValueId y = bench.apply("add", {bench.apply("gelu", {x}), table}, EquationAttributes{"ij,j->ij"});
    const ValueId z = bench.apply("einsum", {y, bench.input({8, 8})}, EquationAttributes{"ij,kj->ik"});
    RandomGraph one = bench.done();
    Sharding split = Sharding::replicated(1);
    split.dims[0] = axes({0});
    one.pins[table] = split;
    QVERIFY(layouts_of(one)[x] == rows({}, {0}));
    for (ValueId value : {x, z}) {
      RandomGraph other = one;
      other.pins[value] = rows({0}, {});
      for (ValueId all : {x, y, z}) QVERIFY(layouts_of(other)[all] == rows({0}, {}));
    }
    one.pins[table].reset();
    one.pins[x] = rows({}, {0});
    QVERIFY(layouts_of(one)[table] == split);
  }

  void splitting_heads_carries_head_axes_both_ways_and_inner_axes_only_when_heads_are_single() {
    struct Row {
      Sharding joined, split;
    };
    const std::vector<Row> both_ways{{joined({0}), split({0}, {})},
                                     {joined({0, 1}), split({0, 1}, {})},
                                     {joined({1, 0}), split({1, 0}, {})},
                                     {joined({0, 1, 2}), split({0, 1}, {2})}};
    RandomGraph one = heads();
    for (const Row& row : both_ways) {
      one.pins = {row.joined, {}, {}};
      QVERIFY(layouts_of(one)[1] == row.split && layouts_of(one)[2] == row.joined);
      one.pins = {{}, row.split, {}};
      QVERIFY(layouts_of(one)[0] == row.joined && layouts_of(one)[2] == row.joined);
    }
    // Inside heads that are not single, an axis cannot be distinguished in the joined dimension.
    one.pins = {{}, split({}, {2}), {}};
    QVERIFY(layouts_of(one)[0] == joined({}) && layouts_of(one)[2] == joined({}));
    one.pins = {{}, split({0}, {2}), {}};
    QVERIFY(layouts_of(one)[0] == joined({0}));
    // An axis across heads goes nowhere, and neither do those behind it.
    one.pins = {joined({2}), {}, {}};
    QVERIFY(layouts_of(one)[1] == split({}, {}));
    one.pins = {joined({2, 0}), {}, {}};
    QVERIFY(layouts_of(one)[1] == split({}, {}));
    one.pins = {joined({0, 2}), {}, {}};
    QVERIFY(layouts_of(one)[1] == split({0}, {}));
  }

  void what_one_side_has_of_the_heads_the_other_completes() {
    RandomGraph one = heads();
    one.pins = {joined({0}), {}, joined({0, 1, 2})};
    const std::vector<Sharding> layouts = layouts_of(one);
    QVERIFY(layouts[0] == joined({0}) && layouts[2] == joined({0, 1, 2}));
    for (int run = 0; run < 3; ++run) QVERIFY(layouts_of(heads()) == layouts_of(heads()));
    for (int run = 0; run < 3; ++run) QVERIFY(layouts_of(one) == layouts);
    for (const Sharding& layout : layouts) {
      unsigned used = 0;
      for (int d = 0; d < layout.rank; ++d) {
        for (AxisIndex axis : layout.dims[d]) {
          QVERIFY(!((used >> axis) & 1));
          used |= 1u << axis;
        }
      }
    }
  }
};

REGISTER_TEST(PropagationTest)

}  // namespace propagation_test

#include "propagation_test.moc"
