#include "engine/ops/registry.h"

#include <QTest>
#include <set>

#include "engine/base/error.h"
#include "engine/ops/adam.h"
#include "engine/ops/attention.h"
#include "engine/ops/cast.h"
#include "engine/ops/scale.h"
#include "tests/ops/op_cases.h"
#include "tests/test_program.h"

namespace registry_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

Graph graph_of(const OpCase& one) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < one.operands.size(); ++i) {
    inputs.push_back(graph.add_input("operand " + std::to_string(i), one.operands[i]));
  }
  graph.add_op(one.definition(), one.op, Phase::forward, inputs, one.attributes);
  return graph;
}

}  // namespace

class RegistryTest : public QObject {
  Q_OBJECT

 private slots:
  void every_op_has_its_own_name_and_a_case_here() {
    std::set<std::string> names, tested;
    for (const OpCase& one : op_cases()) tested.insert(one.op);
    for (const OpDefinition* definition : all_op_definitions()) {
      const std::string name(definition->name());
      QVERIFY2(names.insert(name).second, name.c_str());
      QVERIFY2(tested.count(name), name.c_str());
      QVERIFY(&op_definition(name) == definition);
    }
    QCOMPARE(names.size(), tested.size());
  }

  void an_unknown_op_is_reported_with_a_near_name() {
    try {
      op_definition("einsun");
      QFAIL("found");
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors()[0].code, std::string("unknown_op"));
      QVERIFY(failure.errors()[0].hint.find("'einsum'") != std::string::npos);
    }
  }

  void every_rule_fits_its_op() {
    for (const OpCase& one : op_cases()) {
      verify(graph_of(one));
      std::set<char> labels;
      for (const Factor& factor : one.rule().factors) QVERIFY2(labels.insert(factor.label).second, one.op.c_str());
    }
  }

  void operands_that_do_not_fit_are_refused() {
    for (const OpCase& one : op_cases()) {
      OpCase longer = one, wider = one;
      longer.operands.insert(longer.operands.end(), 3, array({2}));
      QVERIFY2(refused(longer), one.op.c_str());
      if (one.operands.empty()) continue;
      wider.operands.back().shape.push_back(2);
      const bool any_rank = one.operands.size() == 1 && !one.attributes.are<EquationAttributes>();
      if (!any_rank) QVERIFY2(refused(wider), one.op.c_str());
    }
  }

  void operands_of_another_type_are_refused_and_reported_with_which_they_may_be() {
    const TensorType x = array({12, 6}), y = tokens({12, 6}), z = half({12, 6});
    for (const OpCase& one : std::vector<OpCase>{{"gelu", {y}, {}, {}},
                                                 {"scale", {y}, ScaleAttributes{2}, {}},
                                                 {"cast", {y}, CastAttributes{DType::f32}, {}},
                                                 {"add", {x, z}, equation("ab,ab->ab"), {}},
                                                 {"einsum", {x, z}, equation("ab,cb->ac"), {}},
                                                 {"squared_error", {x, z}, ScaleAttributes{1}, {}},
                                                 {"adam", {y, y, y, y}, AdamAttributes{}, {}}}) {
      try {
        one.rule();
        QFAIL(one.op.c_str());
      } catch (const Failure& failure) {
        QCOMPARE(failure.errors()[0].code, std::string("dtype"));
        QVERIFY2(!failure.errors()[0].hint.empty(), one.op.c_str());
      }
    }
  }

  void attributes_of_another_op_are_refused() {
    for (const OpCase& one : op_cases()) {
      if (one.attributes == Attributes()) continue;
      OpCase none = one, other = one;
      none.attributes = {};
      other.attributes =
          one.attributes.are<ScaleAttributes>() ? Attributes(CastAttributes{}) : Attributes(ScaleAttributes{});
      QVERIFY2(refused(none) && refused(other), one.op.c_str());
    }
  }

  void query_heads_are_a_multiple_of_key_heads() {
    const TensorType query = array({2, 3, 6, 4});
    for (int64_t heads = 1; heads <= 8; ++heads) {
      const TensorType key = array({2, 5, heads, 4});
      QCOMPARE(refused({"attention", {query, key, key}, AttentionAttributes{}, {}}), 6 % heads != 0);
    }
  }

  void equations_that_are_none_are_refused() {
    const TensorType x = array({2, 2});
    for (const char* text : {"", "ab,bc", "a-b"}) QVERIFY_THROWS_EXCEPTION(Failure, Equation{text});
    for (const char* text : {"ab->a", "ab,bc,cd->ad", "ab,bc->ax", "ab,bc->aac", "aa,bc->c", "abc,c->ab"}) {
      QVERIFY2(refused({"einsum", {x, x}, equation(text), {}}), text);
    }
    for (const char* text : {"ab,ab->ba", "ab,ba->ab", "a,ab->ab", "ab,c->ab", "ab,bb->ab"}) {
      QVERIFY2(refused({"add", {x, x}, equation(text), {}}), text);
    }
    for (const char* text : {"ab->a", "ab->abc", "a->a", "ab->aab", "(ab->ab", "ab,ab->ab"}) {
      QVERIFY2(refused({"rearrange", {x}, equation(text, {{'c', 1}}), {}}), text);
    }
    QVERIFY(refused({"einsum", {array({4}), x}, equation("(ab),bc->ac"), {}}));
  }

  void gradients_give_each_differentiable_operand_a_cotangent_of_its_type() {
    for (const OpCase& one : op_cases()) {
      Graph graph = graph_of(one);
      const Op op = graph.ops[0];
      GradientContext context{
          graph, 0, {}, std::vector<ValueId>(op.inputs.size(), no_id), std::vector<bool>(op.inputs.size(), true)};
      for (ValueId output : op.outputs) {
        const std::string name = "cotangent " + std::to_string(output);
        context.result_cotangents.push_back(graph.add_input(name, graph.type(output)));
      }
      const bool forward = one.op.find("_grad") == std::string::npos;
      if (forward) one.definition().gradient(context);
      std::set<std::string> names;
      for (const Op& made : graph.ops) QVERIFY2(names.insert(made.name).second, made.name.c_str());
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const ValueId cotangent = context.operand_cotangents[i];
        const bool expected = std::count(one.differentiable.begin(), one.differentiable.end(), static_cast<int>(i)) > 0;
        if (!one.differentiable.empty()) QVERIFY2((cotangent >= 0) == expected, one.op.c_str());
        if (cotangent >= 0) QVERIFY2(graph.type(cotangent) == one.operands[i], one.op.c_str());
        const bool said = expected || cotangent == GradientContext::none || !is_float(one.operands[i].dtype);
        if (!one.differentiable.empty()) QVERIFY2(said, one.op.c_str());
      }
      verify(graph);
    }
  }

  void a_product_has_gradients_of_those_operands_only_that_reach_parameters() {
    const OpCase product{"einsum", {array({2, 3}), array({3, 4})}, equation("ab,bc->ac"), {0, 1}};
    for (const std::vector<bool>& trained : {std::vector<bool>{true, false}, {false, true}, {true, true}}) {
      Graph graph = graph_of(product);
      GradientContext context{graph, 0, {graph.ops[0].outputs[0]}, {no_id, no_id}, trained};
      product.definition().gradient(context);
      for (size_t i : {0, 1}) QCOMPARE(context.operand_cotangents[i] >= 0, bool(trained[i]));
      QCOMPARE(graph.ops.size(), 1 + static_cast<size_t>(std::count(trained.begin(), trained.end(), true)));
    }
  }

  void a_result_may_only_overwrite_an_operand_of_its_own_type() {
    for (const OpCase& one : op_cases()) {
      const std::vector<TensorType> results = one.results();
      std::set<int> taken;
      for (size_t i = 0; i < results.size(); ++i) {
        const int operand = one.definition().in_place_operand(static_cast<int>(i));
        QVERIFY2(operand >= 0 || !one.definition().must_be_in_place(), one.op.c_str());
        if (operand < 0) continue;
        QVERIFY2(taken.insert(operand).second, one.op.c_str());
        QVERIFY2(one.operands.at(operand) == results[i], one.op.c_str());
      }
    }
  }

  void products_count_two_operations_for_each_pair_of_elements() {
    for (const OpCase& one : op_cases()) {
      if (one.op != "einsum") continue;
      double pairs = 1;
      for (const Factor& factor : one.rule().factors) pairs *= static_cast<double>(factor.size);
      QCOMPARE(one.definition().flops(one.attributes, one.operands, one.results()), 2 * pairs);
    }
  }

 private:
  static bool refused(const OpCase& one) {
    try {
      one.rule();
    } catch (const Failure&) {
      return true;
    }
    return false;
  }
};

REGISTER_TEST(RegistryTest)

}  // namespace registry_test

#include "registry_test.moc"
