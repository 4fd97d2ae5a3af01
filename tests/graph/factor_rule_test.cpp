#include <QTest>

#include "engine/base/error.h"
#include "engine/graph/op_definition.h"

using namespace shardscope;

namespace {

TensorType array(Shape shape) { return {std::move(shape), DType::f32}; }

}  // namespace

class FactorRuleTest : public QObject {
  Q_OBJECT

 private slots:
  void a_label_is_one_factor_wherever_it_occurs() {
    const std::vector<TensorType> operands{array({2, 3, 5}), array({5, 7})}, results{array({2, 3, 7})};
    const FactorRule rule = make_rule({"bse", "ef"}, {"bsf"}, operands, results, "s", true);
    QCOMPARE(rule.factors.size(), size_t{4});
    QVERIFY((rule.operands == std::vector<std::vector<int>>{{0, 1, 2}, {2, 3}}));
    QVERIFY((rule.results == std::vector<std::vector<int>>{{0, 1, 3}}));
    const std::string labels = "bsef";
    const Shape sizes{2, 3, 5, 7};
    for (size_t f = 0; f < 4; ++f) {
      QCOMPARE(rule.factors[f].label, labels[f]);
      QCOMPARE(rule.factors[f].size, sizes[f]);
      QCOMPARE(rule.factors[f].splittable, labels[f] != 's');
    }
    QVERIFY(rule.linear);
  }

  void labels_that_do_not_fit_the_shapes_are_refused() {
    const std::vector<TensorType> operands{array({2, 3})}, results{array({3})};
    QVERIFY_THROWS_EXCEPTION(Failure, make_rule({"a"}, {"b"}, operands, results));
    QVERIFY_THROWS_EXCEPTION(Failure, make_rule({"ab"}, {"a"}, operands, results));
    QVERIFY_THROWS_EXCEPTION(Failure, make_rule({"aa"}, {}, std::vector<TensorType>{array({2, 2})}, {}));
    QVERIFY_THROWS_EXCEPTION(
        Failure, make_rule({"abcdef", "ghijkl"}, {}, std::vector<TensorType>(2, array({1, 1, 1, 1, 1, 1})), {}));
    QVERIFY_THROWS_EXCEPTION(Failure, make_rule({"ab"}, {""}, operands, results));
  }
};

QTEST_APPLESS_MAIN(FactorRuleTest)
#include "factor_rule_test.moc"
