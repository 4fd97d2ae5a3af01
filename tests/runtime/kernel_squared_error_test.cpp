#include <QtTest>

#include "engine/ops/constant.h"
#include "engine/ops/scale.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_squared_error_test {

using namespace shardscope;
using namespace shardscope::testing;

class KernelSquaredErrorTest : public QObject {
  Q_OBJECT

 private slots:
  void squared_error_follows_its_definition_in_one_order_of_summing();
  void gradient_is_twice_the_scaled_difference();
  void constant_sets_every_element();
};

void KernelSquaredErrorTest::squared_error_follows_its_definition_in_one_order_of_summing() {
  Random random(1);
  for (int64_t count : {1, 17, 4096, 100'000}) {
    const std::vector<float> x = random.normals(count), y = random.normals(count);
    double expected = 0;
    for (int64_t i = 0; i < count; ++i) expected += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
    expected *= 0.25;
    std::vector<float> first;
    for (int threads : {1, 2, 3}) {
      KernelCase test("squared_error", ScaleAttributes{0.25});
      test.input({count}, x).input({count}, y).output({}).run(threads);
      QVERIFY(difference(test.result(), {expected}) < 1e-6);
      if (threads == 1) first = test.result();
      QCOMPARE(test.result(), first);
    }
  }
}

void KernelSquaredErrorTest::gradient_is_twice_the_scaled_difference() {
  Random random(2);
  const int64_t count = 3001;
  const std::vector<float> x = random.normals(count), y = random.normals(count);
  std::vector<double> expected(count);
  for (int64_t i = 0; i < count; ++i) expected[i] = 2 * 0.25 * 1.5 * (double{x[i]} - y[i]);
  for (int threads : {1, 2}) {
    KernelCase test("squared_error_grad", ScaleAttributes{0.25});
    test.input({count}, x).input({count}, y).input(Shape{}, std::vector<float>{1.5f}).output({count}).run(threads);
    QVERIFY(difference(test.result(), expected) < 1e-6);
  }
}

void KernelSquaredErrorTest::constant_sets_every_element() {
  for (DType dtype : {DType::f32, DType::bf16}) {
    for (int threads : {1, 2}) {
      KernelCase test("constant", ConstantAttributes{0.3, {{7, 501}, dtype}});
      test.output({7, 501}, dtype).run(threads);
      const float expected = dtype == DType::f32 ? 0.3f : to_float(to_bfloat16(0.3f));
      for (float value : test.result()) QCOMPARE(value, expected);
    }
  }
}

REGISTER_TEST(KernelSquaredErrorTest)

}  // namespace kernel_squared_error_test

#include "kernel_squared_error_test.moc"
