#include "engine/graph/graph.h"

#include <QTest>
#include <functional>

#include "engine/graph/autodiff.h"
#include "tests/graph/test_op.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

const TensorType array_type{{2, 3}, DType::f32};

ValueId add_parameter(Graph& graph, const std::string& name) {
  Parameter parameter;
  parameter.value = graph.add_source(name, array_type, ValueKind::parameter);
  parameter.path = {name};
  graph.parameters.push_back(parameter);
  return parameter.value;
}

ValueId sum(Graph& graph, const std::string& name, ValueId a, ValueId b) {
  return graph.ops[graph.add_op(sum_op, name, Phase::forward, {a, b})].outputs[0];
}

// x + w, (x + w) + (x + w), loss.
Graph small_graph() {
  Graph graph;
  ValueId x = graph.add_source("x", array_type, ValueKind::input);
  ValueId y = sum(graph, "first", x, add_parameter(graph, "w"));
  ValueId z = sum(graph, "second", y, y);
  graph.outputs["loss"] = graph.ops[graph.add_op(loss_op, "loss", Phase::forward, {z})].outputs[0];
  return graph;
}

std::vector<Error> faults(const std::function<void()>& action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.errors();
  }
  return {};
}

}  // namespace

class GraphTest : public QObject {
  Q_OBJECT

 private slots:
  void a_graph_made_of_ops_verifies() {
    QVERIFY(faults([] { verify(small_graph()); }).empty());
  }

  void every_break_of_a_graph_is_found_and_names_the_op() {
    const std::vector<std::pair<std::string, std::function<void(Graph&)>>> breaks{
        {"first", [](Graph& g) { g.ops[0].inputs[1] = 99; }},
        {"first", [](Graph& g) { g.ops[0].inputs[1] = -2; }},
        {"first", [](Graph& g) { g.ops[0].inputs[0] = g.ops[1].outputs[0]; }},
        {"first", [](Graph& g) { g.ops[0].inputs[0] = g.ops[0].outputs[0]; }},
        {"first", [](Graph& g) { g.ops[0].inputs.pop_back(); }},
        {"first", [](Graph& g) { g.values[g.ops[0].outputs[0]].type.shape[0] = 7; }},
        {"first", [](Graph& g) { g.values[g.ops[0].outputs[0]].type.dtype = DType::i32; }},
        {"first", [](Graph& g) { g.values[0].type.shape = {2}; }},
        {"second", [](Graph& g) { g.values[g.ops[1].outputs[0]].producer = 0; }},
        {"second", [](Graph& g) { g.ops[1].forward_op = 1; }},
        {"second", [](Graph& g) { g.ops[1].outputs[0] = 99; }},
        {"second", [](Graph& g) { g.ops[1].outputs.clear(); }},
        {"loss", [](Graph& g) { g.values[g.ops[2].outputs[1]].result_index = 0; }},
        {"loss", [](Graph& g) { std::swap(g.ops[2].outputs[0], g.ops[2].outputs[1]); }},
    };
    for (size_t i = 0; i < breaks.size(); ++i) {
      Graph graph = small_graph();
      breaks[i].second(graph);
      const std::vector<Error> found = faults([&] { verify(graph); });
      QVERIFY2(found.size() == 1, std::to_string(i).c_str());
      QVERIFY2(found[0].where == breaks[i].first, (std::to_string(i) + ": " + to_string(found[0])).c_str());
    }
  }

  void a_rule_that_does_not_fit_its_op_is_found() {
    const std::vector<Factor> factors{{'a', 2, true}, {'b', 3, true}};
    const std::vector<std::vector<int>> both{{0, 1}, {0, 1}}, one{{0, 1}};
    const std::vector<FactorRule> wrong{{factors, one, one, false},           {factors, both, both, false},
                                        {factors, {{0, 1}, {0}}, one, false}, {factors, {{0, 1}, {1, 0}}, one, false},
                                        {factors, both, {{1, 1}}, false},     {factors, both, {{0, 5}}, false},
                                        {factors, both, {{0, -1}}, false}};
    for (const FactorRule& rule : wrong) {
      MisruledOp op;
      op.rule = rule;
      Graph graph;
      ValueId x = graph.add_source("x", array_type, ValueKind::input);
      graph.add_op(op, "misruled", Phase::forward, {x, x});
      const std::vector<Error> found = faults([&] { verify(graph); });
      QVERIFY(found.size() == 1 && found[0].where == "misruled");
    }
  }

  void an_op_that_does_not_fit_is_refused_with_its_name() {
    Graph graph;
    ValueId x = graph.add_source("x", array_type, ValueKind::input);
    ValueId y = graph.add_source("y", {{3}, DType::f32}, ValueKind::input);
    for (const std::vector<ValueId>& inputs : std::vector<std::vector<ValueId>>{{x, y}, {x}, {x, 17}, {x, no_id}}) {
      const std::vector<Error> found = faults([&] { graph.add_op(sum_op, "ill", Phase::forward, inputs); });
      QVERIFY(found.size() == 1 && found[0].where == "ill");
      QVERIFY(graph.ops.empty() && graph.values.size() == 2);
    }
  }

  void the_text_of_a_graph_has_a_line_an_op() {
    Graph graph = small_graph();
    graph.ops[0].attributes = {{"count", int64_t{3}}, {"rate", 0.5}, {"text", std::string("ab->a")}};
    graph.ops[2].forward_op = 1;
    QCOMPARE(to_string(graph), std::string("%2 f32(2, 3) = sum(%0, %1) {count=3, rate=0.5, text=ab->a} first\n"
                                           "%3 f32(2, 3) = sum(%2, %2) {} second\n"
                                           "%4 f32(), %5 f32(2, 3) = loss(%3) {} loss [backward of second]\n"));
  }

  void attributes_are_read_by_name_and_a_missing_one_is_told() {
    const Attributes attributes{{"count", int64_t{3}}, {"rate", 0.5}, {"text", std::string("x")}};
    QCOMPARE(integer(attributes, "count"), int64_t{3});
    QCOMPARE(real(attributes, "rate"), 0.5);
    QCOMPARE(text(attributes, "text"), std::string("x"));
    const std::vector<Error> found = faults([&] { integer(attributes, "size"); });
    QVERIFY(found.size() == 1 && found[0].code == "missing_attribute");
  }

  void cotangents_have_the_types_of_their_values_and_are_summed_over_uses() {
    Graph graph = small_graph();
    const size_t forward_ops = graph.ops.size(), forward_values = graph.values.size();
    const std::vector<ValueId> cotangents = differentiate(graph, graph.outputs["loss"], sum_op);
    verify(graph);
    QCOMPARE(cotangents.size(), forward_values);
    for (size_t v = 0; v < cotangents.size(); ++v) {
      if (cotangents[v] != no_id) QVERIFY(graph.type(cotangents[v]) == graph.values[v].type);
    }
    QCOMPARE(graph.ops.size(), forward_ops + 1);  // y is used twice: one sum
    QVERIFY(graph.ops.back().phase == Phase::backward);
    QCOMPARE(graph.ops.back().forward_op, 1);
    QCOMPARE(graph.parameters[0].gradient, graph.ops.back().outputs[0]);
  }

  void every_parameter_that_does_not_reach_the_loss_is_named() {
    Graph graph = small_graph();
    ValueId unused = add_parameter(graph, "unused");
    sum(graph, "aside", unused, unused);
    add_parameter(graph, "alone");
    const std::vector<Error> found = faults([&] { differentiate(graph, graph.outputs["loss"], sum_op); });
    QCOMPARE(found.size(), size_t{2});
    QCOMPARE(found[0].code, std::string("no_gradient"));
    QCOMPARE(found[0].where, std::string("unused"));
    QCOMPARE(found[1].where, std::string("alone"));
  }
};

QTEST_APPLESS_MAIN(GraphTest)
#include "graph_test.moc"
