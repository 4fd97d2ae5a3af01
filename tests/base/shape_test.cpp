#include "engine/base/shape.h"

#include <QTest>

#include "tests/test_program.h"

namespace shape_test {

using namespace shardscope;

class ShapeTest : public QObject {
  Q_OBJECT

 private slots:
  // The rows of jax.numpy.promote_types among these types (docs.jax.dev, "Type promotion semantics").
  void types_promote_as_in_jax() {
    using enum DType;
    const std::vector<DType> types{f32, bf16, i32};
    const std::vector<std::vector<DType>> table{{f32, f32, f32}, {f32, bf16, bf16}, {f32, bf16, i32}};
    for (size_t i = 0; i < types.size(); ++i) {
      for (size_t j = 0; j < types.size(); ++j) {
        QCOMPARE(promote(types[i], types[j]), table[i][j]);
        // A join: in any order, and once more changes nothing.
        QCOMPARE(promote(types[j], types[i]), table[i][j]);
        QCOMPARE(promote(table[i][j], types[i]), table[i][j]);
        for (DType third : types) {
          QCOMPARE(promote(promote(types[i], types[j]), third), promote(types[i], promote(types[j], third)));
        }
      }
    }
  }

  void an_element_has_the_bytes_of_its_type() {
    QCOMPARE((TensorType{{3, 5}, DType::f32}).bytes(), int64_t{60});
    QCOMPARE((TensorType{{3, 5}, DType::bf16}).bytes(), int64_t{30});
    QCOMPARE((TensorType{{}, DType::i32}).bytes(), int64_t{4});
    QVERIFY(is_float(DType::f32) && is_float(DType::bf16) && !is_float(DType::i32));
  }

  void shapes_print_as_in_numpy() {
    QCOMPARE(to_string(Shape{}), std::string("()"));
    QCOMPARE(to_string(Shape{512}), std::string("(512,)"));
    QCOMPARE(to_string(Shape{2, 3}), std::string("(2, 3)"));
  }
};

REGISTER_TEST(ShapeTest)

}  // namespace shape_test

#include "shape_test.moc"
