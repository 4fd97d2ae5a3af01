#include "engine/config/placement_text.h"

#include <QtTest>
#include <random>

#include "tests/base/errors_of.h"
#include "tests/test_program.h"

namespace placement_text_test {

using namespace shardscope;

namespace {

class RandomPlacements {
 public:
  RulePlacement next() {
    switch (below(3)) {
      case 0: {
        PartitionSpec spec;
        for (int d = below(4); d > 0; --d) spec.dims.push_back(axes());
        return spec;
      }
      case 1: {
        LogicalAxes rule;
        for (int i = 1 + below(3); i > 0; --i) rule.axes.emplace_back(name(), axes());
        return rule;
      }
      default: {
        LargestDimension rule{axes(), below(2) ? 0 : 1 + below(100000)};
        if (rule.axes.empty()) rule.axes = {"data"};
        return rule;
      }
    }
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  std::string name() {
    static const char* const names[] = {"data", "model", "mlp", "None", "largest", "from", "a b", "it's",    "x->y",
                                        "a-",   "-",     "",    "1",    "P",       "\\",   "(",   "kv_heads"};
    return names[below(std::size(names))];
  }
  std::vector<std::string> axes() {
    std::vector<std::string> list;
    for (int i = below(3); i > 0; --i) list.push_back(name());
    return list;
  }
  std::mt19937 random_{7};
};

Error fault(const std::string& text) {
  return error_of([&] { parse_placement(text); });
}

}  // namespace

class PlacementTextTest : public QObject {
  Q_OBJECT
 private slots:
  void a_spec_may_have_its_module_before_it_and_nothing_else_is_one() {
    const PartitionSpec both{{{"data", "model"}, {}}};
    for (const char* text : {"P(('data', 'model'), None)", " jax.sharding.PartitionSpec((\"data\", \"model\"), None)",
                             "PartitionSpec(('data', 'model'), None)"})
      QVERIFY2(parse_spec(text) == both, text);
    for (const char* text : {"mlp -> data", "largest -> data", "", "P('data'", "a.b"}) {
      const Error error = error_of([&] { parse_spec(text); });
      QCOMPARE(error.code, std::string("placement"));
      QVERIFY2(error.hint.find("P('data', None)") != std::string::npos, error.hint.c_str());
    }
    QCOMPARE(error_of([] { parse_spec("jax.P('data' 3)"); }).place.column, 14);
  }

  void what_is_written_is_read_again() {
    RandomPlacements placements;
    for (int i = 0; i < 3000; ++i) {
      const RulePlacement placement = placements.next();
      const std::string text = placement_text(placement);
      QVERIFY2(parse_placement(text) == placement, text.c_str());
    }
  }

  void texts_are_those_that_people_write() {
    QCOMPARE(placement_text(PartitionSpec{{{"data"}, {}}}), std::string("P('data', None)"));
    QCOMPARE(placement_text(PartitionSpec{{{"data", "model"}}}), std::string("P(('data', 'model'),)"));
    QCOMPARE(placement_text(LogicalAxes{{{"mlp", {"model"}}, {"embed", {}}}}),
             std::string("mlp -> model, embed -> None"));
    QCOMPARE(placement_text(LargestDimension{{"data"}, 65536}), std::string("largest -> data from 65536 bytes"));
  }

  void jax_notation_is_read() {
    QVERIFY((parse_placement("PartitionSpec(\"data\", None, ('a', 'b'))") ==
             RulePlacement(PartitionSpec{{{"data"}, {}, {"a", "b"}}})));
    QVERIFY(parse_placement(" P( ) ") == RulePlacement(PartitionSpec{}));
    QVERIFY((parse_placement("embed->(data,model)") == RulePlacement(LogicalAxes{{{"embed", {"data", "model"}}}})));
  }

  void what_cannot_be_read_is_an_error_at_its_column() {
    QCOMPARE(to_string(fault("P('data'").place), std::string("column 9"));
    QCOMPARE(fault("P('data) ").message, std::string("a quote is not closed"));
    QCOMPARE(to_string(fault("mlp = model").place), std::string("column 5"));
    QCOMPARE(to_string(fault("P() P()").place), std::string("column 5"));
    for (const char* text :
         {"", "mlp", "mlp ->", "largest -> None", "largest -> data from few", "P(,)", "a -> (b c)"}) {
      QVERIFY2(fault(text).code == "placement" && !fault(text).hint.empty(), text);
    }
  }
};

REGISTER_TEST(PlacementTextTest)

}  // namespace placement_text_test

#include "placement_text_test.moc"
