#include "engine/graph/graph.h"

#include <QTest>
#include <functional>
#include <set>

#include "engine/graph/autodiff.h"
#include "tests/base/errors_of.h"
#include "tests/graph/test_op.h"
#include "tests/test_program.h"

namespace graph_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

const TensorType array_type{{2, 3}, DType::f32};

ValueId add_parameter(Graph& graph, const std::string& name) {
  State& parameter = graph.states[graph.add_state(zeros_op, {}, "params", {"params", name})];
  parameter.trainable = true;
  return parameter.before;
}

ValueId sum(Graph& graph, const std::string& name, ValueId a, ValueId b) {
  return graph.ops[graph.add_op(sum_op, name, Phase::forward, {a, b})].outputs[0];
}

// w (made by op 0), x + w, (x + w) + (x + w), loss.
Graph small_graph() {
  Graph graph;
  ValueId x = graph.add_input("x", array_type);
  ValueId y = sum(graph, "first", x, add_parameter(graph, "w"));
  ValueId z = sum(graph, "second", y, y);
  graph.outputs["loss"] = graph.ops[graph.add_op(loss_op, "loss", Phase::forward, {z})].outputs[0];
  return graph;
}

// Differentiates from the loss, whose cotangent is an input.
std::vector<ValueId> differentiate_loss(Graph& graph) {
  const CotangentSeed seed{graph.outputs.at("loss"), graph.add_input("seed", {{}, DType::f32})};
  return differentiate(graph, {&seed, 1}, sum_op, no_attributes);
}

}  // namespace

class GraphTest : public QObject {
  Q_OBJECT

 private slots:
  void a_graph_made_of_ops_verifies() {
    QVERIFY(errors_of([] { verify(small_graph()); }).empty());
  }

  void every_break_of_a_graph_is_found_and_names_the_op() {
    const std::vector<std::pair<std::string, std::function<void(Graph&)>>> breaks{
        {"first", [](Graph& g) { g.ops[1].inputs[1] = 99; }},
        {"first", [](Graph& g) { g.ops[1].inputs[1] = -2; }},
        {"first", [](Graph& g) { g.ops[1].inputs[0] = g.ops[2].outputs[0]; }},
        {"first", [](Graph& g) { g.ops[1].inputs[0] = g.ops[1].outputs[0]; }},
        {"first", [](Graph& g) { g.ops[1].inputs.pop_back(); }},
        {"first", [](Graph& g) { g.values[g.ops[1].outputs[0]].type.shape[0] = 7; }},
        {"first", [](Graph& g) { g.values[g.ops[1].outputs[0]].type.dtype = DType::i32; }},
        {"first", [](Graph& g) { g.values[0].type.shape = {2}; }},
        {"second", [](Graph& g) { g.values[g.ops[2].outputs[0]].producer = 1; }},
        {"second", [](Graph& g) { g.ops[2].forward_op = 2; }},
        {"second", [](Graph& g) { g.ops[2].outputs[0] = 99; }},
        {"second", [](Graph& g) { g.ops[2].outputs.clear(); }},
        {"second", [](Graph& g) { g.ops[2].signature = 99; }},
        {"second", [](Graph& g) { g.ops[2].signature = g.ops[3].signature; }},
        {"loss", [](Graph& g) { g.values[g.ops[3].outputs[1]].result_index = 0; }},
        {"loss", [](Graph& g) { std::swap(g.ops[3].outputs[0], g.ops[3].outputs[1]); }},
    };
    for (size_t i = 0; i < breaks.size(); ++i) {
      Graph graph = small_graph();
      breaks[i].second(graph);
      const std::vector<Error> found = errors_of([&] { verify(graph); });
      QVERIFY2(found.size() == 1, std::to_string(i).c_str());
      QVERIFY2(to_string(found[0].place) == breaks[i].first, (std::to_string(i) + ": " + to_string(found[0])).c_str());
    }
  }

  void a_rule_that_does_not_fit_its_op_is_found() {
    using Dimensions = std::vector<std::vector<DimensionFactors>>;
    const std::vector<Factor> factors{{'a', 2, true}, {'b', 3, true}};
    const Dimensions both{{{0}, {1}}, {{0}, {1}}}, one{{{0}, {1}}};
    const std::vector<Reduction> sum{Reduction::sum};
    const std::vector<FactorRule> wrong{{factors, one, one, sum},
                                        {factors, both, both, sum},
                                        {factors, {{{0}, {1}}, {{0}}}, one, sum},
                                        {factors, {{{0}, {1}}, {{1}, {0}}}, one, sum},
                                        {factors, both, {{{1}, {1}}}, sum},
                                        {factors, both, {{{0}, {5}}}, sum},
                                        {factors, both, {{{0}, {-1}}}, sum},
                                        {factors, both, {{{0}, {0, 1}}}, sum},
                                        {factors, both, {{{0, 1}, {}}}, sum},
                                        {factors, both, one, {}}};
    for (const FactorRule& rule : wrong) {
      MisruledOp op;
      op.rule = rule;
      Graph graph;
      ValueId x = graph.add_input("x", array_type);
      graph.add_op(op, "misruled", Phase::forward, {x, x});
      const std::vector<Error> found = errors_of([&] { verify(graph); });
      QVERIFY(found.size() == 1 && to_string(found[0].place) == "misruled");
    }
  }

  void an_op_that_does_not_fit_is_refused_with_its_name() {
    Graph graph;
    ValueId x = graph.add_input("x", array_type);
    ValueId y = graph.add_input("y", {{3}, DType::f32});
    for (const std::vector<ValueId>& inputs : std::vector<std::vector<ValueId>>{{x, y}, {x}, {x, 17}, {x, no_id}}) {
      const std::vector<Error> found = errors_of([&] { graph.add_op(sum_op, "ill", Phase::forward, inputs); });
      QVERIFY(found.size() == 1 && to_string(found[0].place) == "ill");
      QVERIFY(graph.ops.empty() && graph.values.size() == 2);
    }
  }

  void the_text_of_a_graph_has_a_line_an_op() {
    Graph graph = small_graph();
    graph.ops[1].attributes = NoteAttributes{3};
    graph.ops[3].forward_op = 2;
    QCOMPARE(to_string(graph), std::string("%1 f32(2, 3) = zeros() {} params/w/initialise\n"
                                           "%3 f32(2, 3) = sum(%0, %2) {count=3} first\n"
                                           "%4 f32(2, 3) = sum(%3, %3) {} second\n"
                                           "%5 f32(), %6 f32(2, 3) = loss(%4) {} loss [backward of second]\n"));
  }

  void attributes_are_values_of_one_type_and_another_is_refused() {
    struct Other : NoteAttributes {};
    const Attributes three = NoteAttributes{3}, none;
    QCOMPARE(three.as<NoteAttributes>().count, 3);
    QCOMPARE(three.text(), std::string("count=3"));
    QVERIFY(three.are<NoteAttributes>() && !three.are<Other>() && !none.are<NoteAttributes>());
    QVERIFY(three == Attributes(NoteAttributes{3}) && !(three == Attributes(NoteAttributes{4})));
    QVERIFY(none == Attributes() && !(none == three) && !(three == none));
    for (const Attributes& wrong : {none, three}) {
      const std::vector<Error> found = errors_of([&] { wrong.as<Other>(); });
      QVERIFY(found.size() == 1 && found[0].code == "attributes");
    }
  }

  void every_op_and_value_has_a_name_of_its_own() {
    Graph graph;
    const ValueId x = graph.add_input("x", array_type);
    std::set<std::string> names;
    for (const char* name : {"a", "a", "a_1", "a", "a_1", "a_1_1"}) {
      names.insert(graph.ops[graph.add_op(sum_op, name, Phase::forward, {x, x})].name);
    }
    QCOMPARE(names.size(), size_t{6});
    QVERIFY(names.contains("a") && names.contains("a_1"));
  }

  void ops_that_agree_in_definition_attributes_and_operand_types_share_a_signature() {
    Graph graph;
    const ValueId x = graph.add_input("x", array_type), y = graph.add_input("y", {{3, 2}, DType::f32});
    auto signature = [&](const OpDefinition& op, std::vector<ValueId> inputs, Attributes attributes) {
      return graph.ops[graph.add_op(op, "op", Phase::forward, std::move(inputs), std::move(attributes))].signature;
    };
    const int first = signature(sum_op, {x, x}, NoteAttributes{1});
    QCOMPARE(signature(sum_op, {x, x}, NoteAttributes{1}), first);
    QVERIFY(signature(sum_op, {x, x}, NoteAttributes{2}) != first);
    QVERIFY(signature(sum_op, {y, y}, NoteAttributes{1}) != first);
    QVERIFY(signature(loss_op, {x}, NoteAttributes{1}) != first);
    QCOMPARE(graph.signatures.size(), size_t{4});
    verify(graph);
  }

  void a_state_is_named_by_collection_and_path_and_an_op_makes_its_first_value() {
    Graph graph;
    const std::vector<std::string> path{"params", "Dense_0", "kernel"};
    const StateId parameter = graph.add_state(zeros_op, {}, "params", path);
    const StateId mu = graph.add_state(zeros_op, {}, "optimizer/mu", path);
    graph.states[mu].follows = parameter;
    graph.states[parameter].trainable = true;
    QCOMPARE(graph.name(graph.states[parameter]), std::string("params/Dense_0/kernel"));
    QCOMPARE(graph.name(graph.states[mu]), std::string("optimizer/mu/params/Dense_0/kernel"));
    QVERIFY(graph.trainable() == std::vector<StateId>{parameter});
    for (StateId id : {parameter, mu}) {
      const State& state = graph.states[id];
      const Value &before = graph.values[state.before], &initial = graph.values[state.initial];
      QVERIFY(before.kind == ValueKind::state && before.state == id && before.producer == no_id);
      QVERIFY(before.type == array_type && initial.type == array_type);
      QVERIFY(graph.ops[initial.producer].phase == Phase::initialise && graph.ops[initial.producer].inputs.empty());
      QCOMPARE(graph.ops[initial.producer].name, graph.name(state) + "/initialise");
      QCOMPARE(state.after, no_id);
    }
    verify(graph);
  }

  void cotangents_have_the_types_of_their_values_and_are_summed_over_uses() {
    Graph graph = small_graph();
    const size_t forward_ops = graph.ops.size(), forward_values = graph.values.size() + 1;  // with the seed
    const std::vector<ValueId> cotangents = differentiate_loss(graph);
    verify(graph);
    QCOMPARE(cotangents.size(), forward_values);
    for (size_t v = 0; v < cotangents.size(); ++v) {
      if (cotangents[v] != no_id) QVERIFY(graph.type(cotangents[v]) == graph.values[v].type);
    }
    QCOMPARE(graph.ops.size(), forward_ops + 1);  // y is used twice: one sum
    QVERIFY(graph.ops.back().phase == Phase::backward);
    QCOMPARE(graph.ops[graph.ops.back().forward_op].name, std::string("second"));
    QCOMPARE(cotangents[graph.states[0].before], graph.ops.back().outputs[0]);
  }

  void every_parameter_that_does_not_reach_the_loss_is_named() {
    Graph graph = small_graph();
    ValueId unused = add_parameter(graph, "unused");
    sum(graph, "aside", unused, unused);
    add_parameter(graph, "alone");
    const std::vector<Error> found = errors_of([&] { differentiate_loss(graph); });
    QCOMPARE(found.size(), size_t{2});
    QCOMPARE(found[0].code, std::string("no_gradient"));
    QCOMPARE(to_string(found[0].place), std::string("params/unused"));
    QCOMPARE(to_string(found[1].place), std::string("params/alone"));
  }

  void an_op_without_a_gradient_on_the_way_to_a_parameter_is_an_error_that_names_it() {
    Graph graph;
    const ValueId w = add_parameter(graph, "w"), x = graph.add_input("x", array_type);
    graph.outputs["loss"] =
        graph.ops[graph.add_op(metric_op, "Dense_0/odd", Phase::forward, {sum(graph, "sum", x, w)})].outputs[0];
    const std::vector<Error> found = errors_of([&] { differentiate_loss(graph); });
    QCOMPARE(found.size(), size_t{1});
    QCOMPARE(found[0].code, std::string("no_gradient"));
    QCOMPARE(to_string(found[0].place), std::string("Dense_0/odd"));
    QVERIFY(found[0].message.find("metric") != std::string::npos && !found[0].hint.empty());
  }

  void an_op_without_a_gradient_beside_the_way_to_a_parameter_is_no_error() {
    Graph graph = small_graph();
    const ValueId x = graph.inputs.at("x");
    const OpId aside = graph.add_op(metric_op, "of input", Phase::forward, {x});
    const CotangentSeed seeds[] = {{graph.outputs.at("loss"), graph.add_input("seed", {{}, DType::f32})},
                                   {graph.ops[aside].outputs[0], graph.add_input("other", {{}, DType::f32})}};
    const std::vector<ValueId> cotangents = differentiate(graph, seeds, sum_op, no_attributes);
    QVERIFY(cotangents[graph.states[0].before] != no_id);
    for (const Op& op : graph.ops) QVERIFY(op.forward_op != aside);
  }

  void an_op_that_stops_gradients_is_no_error() {
    Graph graph = small_graph();
    const ValueId y = graph.ops[1].outputs[0];
    const OpId metric = graph.add_op(stopping_metric_op, "norm", Phase::forward, {y});
    const CotangentSeed seeds[] = {{graph.outputs.at("loss"), graph.add_input("seed", {{}, DType::f32})},
                                   {graph.ops[metric].outputs[0], graph.add_input("other", {{}, DType::f32})}};
    const size_t ops = graph.ops.size();
    const std::vector<ValueId> cotangents = differentiate(graph, seeds, sum_op, no_attributes);
    QVERIFY(cotangents[graph.states[0].before] != no_id);
    QCOMPARE(graph.ops.size(), ops + 1);  // y's two uses; the metric adds nothing
  }

  void seeds_of_one_value_add_up() {
    Graph graph = small_graph();
    const ValueId loss = graph.outputs.at("loss"), one = graph.add_input("one", {{}, DType::f32}),
                  two = graph.add_input("two", {{}, DType::f32});
    const CotangentSeed seeds[] = {{loss, one}, {loss, two}};
    const std::vector<ValueId> cotangents = differentiate(graph, seeds, sum_op, no_attributes);
    QVERIFY((graph.ops[graph.values[cotangents[loss]].producer].inputs == std::vector<ValueId>{one, two}));
  }
};

REGISTER_TEST(GraphTest)

}  // namespace graph_test

#include "graph_test.moc"
