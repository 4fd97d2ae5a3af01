#include <QtTest>

#include <cmath>

#include "engine/base/error.h"
#include "engine/ops/equation.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_sum_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

// Offsets into the array `part` (a subset of the labels, any order) for every element of the array `whole`.
std::vector<int64_t> projection(const std::string& whole, const Shape& shape, const std::string& part) {
  std::vector<int64_t> strides(whole.size(), 0);
  int64_t stride = 1;
  for (size_t d = part.size(); d-- > 0;) {
    const size_t at = whole.find(part[d]);
    strides[at] = stride;
    stride *= shape[at];
  }
  std::vector<int64_t> offsets(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < offsets.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i);
    for (size_t d = whole.size(); d-- > 0; rest /= shape[d]) offsets[i] += rest % shape[d] * strides[d];
  }
  return offsets;
}

Shape part_shape(const std::string& whole, const Shape& shape, const std::string& part) {
  Shape result;
  for (char label : part) result.push_back(shape[whole.find(label)]);
  return result;
}

}  // namespace

class KernelSumTest : public QObject {
  Q_OBJECT

 private slots:
  void add_broadcasts_what_the_second_operand_lacks();
  void add_refuses_what_is_not_a_broadcast();
  void reduce_sum_is_the_sum_over_the_missing_labels();
  void reduce_sum_of_many_rows_is_exact_to_rounding();
};

void KernelSumTest::add_broadcasts_what_the_second_operand_lacks() {
  Random random(1);
  for (const std::string second : {"bshd", "shd", "hd", "d", "b", "bs", "bd", "sh", "bhd", "bsd", "s", ""}) {
    for (int trial = 0; trial < 6; ++trial) {
      const Shape shape{random.integer(1, 9), random.integer(1, 40), random.integer(1, 5), random.integer(1, 33)};
      const std::vector<float> a = random.normals(element_count(shape));
      const Shape b_shape = part_shape("bshd", shape, second);
      const std::vector<float> b = random.normals(element_count(b_shape));
      std::vector<float> expected = a;
      const std::vector<int64_t> at = projection("bshd", shape, second);
      for (size_t i = 0; i < a.size(); ++i) expected[i] = a[i] + b[at[i]];
      const Attributes attributes = EquationAttributes{"bshd," + second + "->bshd"};
      for (int threads : {1, 2}) {
        KernelCase apart("add", attributes), over("add", attributes);
        apart.input(shape, a).input(b_shape, b).output(shape).run(threads);
        over.input(shape, a).input(b_shape, b).output_over(0).run(threads);
        QCOMPARE(apart.result(), expected);
        QCOMPARE(over.result(), expected);
      }
    }
  }
}

void KernelSumTest::add_refuses_what_is_not_a_broadcast() {
  for (const std::string equation : {"ij,ji->ij", "ij,ik->ij", "i,ij->ij", "ij,i->ji"}) {
    const size_t comma = equation.find(',');
    const std::vector<TensorType> operands{{Shape(comma, 2), DType::f32},
                                           {Shape(equation.find('-') - comma - 1, 2), DType::f32}};
    QVERIFY_EXCEPTION_THROWN(op_definition("add").infer(EquationAttributes{equation}, operands), Failure);
  }
}

void KernelSumTest::reduce_sum_is_the_sum_over_the_missing_labels() {
  Random random(2);
  for (const std::string result : {"bshd", "hd", "d", "shd", "b", "bs", "bd", "s", "h", "bh", "sd", "db", "", "dhsb"}) {
    for (int trial = 0; trial < 6; ++trial) {
      const Shape shape{random.integer(1, 9), random.integer(1, 70), random.integer(1, 5), random.integer(1, 33)};
      const std::vector<float> x = random.normals(element_count(shape));
      const Shape y = part_shape("bshd", shape, result);
      std::vector<double> expected(static_cast<size_t>(element_count(y)), 0.0);
      const std::vector<int64_t> at = projection("bshd", shape, result);
      double magnitude = 0;  // what rounding is relative to where the sum cancels
      for (size_t i = 0; i < x.size(); ++i) {
        expected[at[i]] += x[i];
        magnitude += std::abs(x[i]) / static_cast<double>(expected.size());
      }
      std::vector<float> first;
      for (int threads : {1, 2}) {
        KernelCase test("reduce_sum", EquationAttributes{"bshd->" + result});
        test.input(shape, x).output(y).run(threads);
        QVERIFY2(difference(test.result(), expected, magnitude) < 1e-6, result.c_str());
        if (threads == 1) first = test.result();
        QCOMPARE(test.result(), first);
      }
    }
  }
}

void KernelSumTest::reduce_sum_of_many_rows_is_exact_to_rounding() {
  Random random(3);
  const int64_t rows = 20000, columns = 600;
  std::vector<float> x = random.normals(rows * columns);
  for (float& value : x) value += 100;  // a running sum in float would lose four digits
  std::vector<double> expected(columns, 0.0);
  for (int64_t i = 0; i < rows * columns; ++i) expected[i % columns] += x[i];
  KernelCase test("reduce_sum", EquationAttributes{"re->e"});
  test.input({rows, columns}, x).output({columns}).run(2);
  QVERIFY(difference(test.result(), expected) < 2e-7);
  double whole = 0;
  for (double value : expected) whole += value;
  KernelCase all("reduce_sum", EquationAttributes{"re->"});
  all.input({rows, columns}, x).output({}).run(2);
  QVERIFY(difference(all.result(), {whole}) < 2e-7);
}

REGISTER_TEST(KernelSumTest)

}  // namespace kernel_sum_test

#include "kernel_sum_test.moc"
