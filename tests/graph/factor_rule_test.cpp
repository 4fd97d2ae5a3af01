#include "engine/graph/factor_rule.h"

#include <QTest>
#include <functional>

#include "tests/base/errors_of.h"
#include "tests/test_program.h"

namespace factor_rule_test {

using namespace shardscope;

namespace {

TensorType array(Shape shape) { return {std::move(shape), DType::f32}; }

FactorRule rule_of(const std::vector<std::string>& operands, const std::vector<std::string>& results,
                   const std::vector<Shape>& shapes, std::vector<std::pair<char, int64_t>> sizes = {}) {
  std::vector<TensorType> types;
  for (const Shape& shape : shapes) types.push_back(array(shape));
  return make_rule({operands, results, "", false, {}, std::move(sizes)}, types);
}

int64_t size_of(const FactorRule& rule, char label) {
  for (const Factor& factor : rule.factors) {
    if (factor.label == label) return factor.size;
  }
  return -1;
}

std::string code_of(const std::function<void()>& action) { return error_of(action).code; }

}  // namespace

class FactorRuleTest : public QObject {
  Q_OBJECT

 private slots:
  void a_label_is_one_factor_wherever_it_occurs() {
    const FactorRule rule =
        make_rule({{"bse", "ef"}, {"bsf"}, "s", true}, std::vector<TensorType>{array({2, 3, 5}), array({5, 7})});
    using Dimensions = std::vector<std::vector<DimensionFactors>>;
    QCOMPARE(rule.factors.size(), size_t{4});
    QVERIFY((rule.operands == Dimensions{{{0}, {1}, {2}}, {{2}, {3}}}));
    QVERIFY((rule.results == Dimensions{{{0}, {1}, {3}}}));
    const std::string labels = "bsef";
    const Shape sizes{2, 3, 5, 7};
    for (size_t f = 0; f < 4; ++f) {
      QCOMPARE(rule.factors[f].label, labels[f]);
      QCOMPARE(rule.factors[f].size, sizes[f]);
      QCOMPARE(rule.factors[f].splittable, labels[f] != 's');
    }
    QVERIFY(rule.linear);
    QVERIFY(rule.reductions == std::vector<Reduction>{Reduction::sum});
    QVERIFY((result_shape(rule, 0) == Shape{2, 3, 7}));
  }

  void parentheses_make_one_dimension_of_several_factors() {
    QVERIFY((dimension_labels("bs(hd)") == std::vector<std::string>{"b", "s", "hd"}));
    QVERIFY((dimension_labels("(ab)(cd)e()") == std::vector<std::string>{"ab", "cd", "e", ""}));
    QVERIFY(dimension_labels("").empty());
    for (const char* text : {"(a", "a)", "((a)b)", "a)(b"}) {
      QCOMPARE(code_of([&] { dimension_labels(text); }), std::string("equation"));
    }
  }

  void a_dimension_of_several_factors_is_resolved_from_the_others() {
    const FactorRule split = rule_of({"bs(hd)"}, {"bshd"}, {{2, 3, 24}}, {{'h', 4}});
    QCOMPARE(size_of(split, 'd'), int64_t{6});
    QVERIFY((split.operands[0][2] == DimensionFactors{2, 3}));
    QVERIFY((result_shape(split, 0) == Shape{2, 3, 4, 6}));
    QCOMPARE(dimension_size(split, split.operands[0][2]), int64_t{24});

    // From another operand, whichever comes first.
    for (bool key_first : {false, true}) {
      const FactorRule grouped = key_first ? rule_of({"bkgd", "bq(gr)d"}, {}, {{2, 5, 4, 8}, {2, 3, 12, 8}})
                                           : rule_of({"bq(gr)d", "bkgd"}, {}, {{2, 3, 12, 8}, {2, 5, 4, 8}});
      QCOMPARE(size_of(grouped, 'r'), int64_t{3});
    }
    const FactorRule joined = rule_of({"abc"}, {"(abc)"}, {{2, 3, 5}});
    QVERIFY((result_shape(joined, 0) == Shape{30}));
    const FactorRule scalar = rule_of({"()"}, {""}, {{1}});
    QVERIFY(result_shape(scalar, 0).empty());
  }

  void factors_whose_product_is_not_the_dimension_are_refused() {
    QCOMPARE(code_of([] { rule_of({"(hd)"}, {"hd"}, {{24}}, {{'h', 5}}); }), std::string("shape"));
    QCOMPARE(code_of([] { rule_of({"(hd)"}, {"hd"}, {{24}}, {{'h', 4}, {'d', 5}}); }), std::string("shape"));
    QCOMPARE(code_of([] { rule_of({"(hd)", "h", "d"}, {}, {{24}, {4}, {5}}); }), std::string("shape"));
    QCOMPARE(code_of([] { rule_of({"(hd)"}, {"hd"}, {{24}}, {{'h', 0}}); }), std::string("shape"));
    QCOMPARE(code_of([] { rule_of({"(hd)"}, {"hd"}, {{24}}); }), std::string("equation"));  // h and d are open
    QCOMPARE(code_of([] { rule_of({"a"}, {"ab"}, {{2}}); }), std::string("equation"));      // b follows from nothing
  }

  void labels_that_do_not_fit_the_shapes_are_refused() {
    QCOMPARE(code_of([] { rule_of({"a"}, {"a"}, {{2, 3}}); }), std::string("rank"));
    QCOMPARE(code_of([] { rule_of({"ab"}, {"c"}, {{2, 3}}); }), std::string("equation"));
    QCOMPARE(code_of([] { rule_of({"aa"}, {}, {{2, 2}}); }), std::string("repeated_label"));
    QCOMPARE(code_of([] { rule_of({"(ab)a"}, {}, {{2, 2}}); }), std::string("repeated_label"));
    QCOMPARE(code_of([] { rule_of({"ab"}, {"a"}, {{2, 3}, {2}}); }), std::string("operand_count"));
    QCOMPARE(code_of([] { rule_of({"ab", "b"}, {"a"}, {{2, 3}, {4}}); }), std::string("shape"));
    QCOMPARE(code_of([] {
               rule_of({"abcdef", "ghijkl", "m"}, {}, {Shape(6, 1), Shape(6, 1), Shape(1, 1)});
             }),
             std::string("factor_count"));
    rule_of({"abcdef", "ghijkl"}, {}, {Shape(6, 1), Shape(6, 1)});
  }

  void a_result_says_how_its_parts_combine() {
    const FactorRule rule = make_rule({{"rv"}, {"r", "r"}, "", false, {Reduction::max, Reduction::sum}},
                                      std::vector<TensorType>{array({2, 3})});
    QVERIFY((rule.reductions == std::vector<Reduction>{Reduction::max, Reduction::sum}));
  }
};

REGISTER_TEST(FactorRuleTest)

}  // namespace factor_rule_test

#include "factor_rule_test.moc"
