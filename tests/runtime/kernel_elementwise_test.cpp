#include <QtTest>

#include <cmath>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/ops/adam.h"
#include "engine/ops/dropout.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_elementwise_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

double naive_gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

Attributes dropout_attributes(double rate) { return DropoutAttributes{rate, {key_from_seed(5), 1, 0, 0x89abcdef}}; }

}  // namespace

class KernelElementwiseTest : public QObject {
  Q_OBJECT

 private slots:
  void gelu_is_the_tanh_form();
  void gelu_grad_is_the_slope_of_gelu();
  void gelu_stays_finite_for_large_numbers();
  void dropout_keeps_what_the_generator_says_of_the_whole_array();
  void dropout_with_rate_zero_changes_nothing();
  void adam_follows_its_definition_over_steps();
};

void KernelElementwiseTest::gelu_is_the_tanh_form() {
  Random random(1);
  for (int64_t count : {1, 15, 16, 17, 1023, 5000}) {
    const std::vector<float> x = random.normals(count, 3);
    std::vector<double> expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) expected[i] = naive_gelu(x[i]);
    std::vector<float> first;
    for (int threads : {1, 2}) {
      KernelCase apart("gelu"), over("gelu");
      apart.input({count}, x).output({count}).run(threads);
      over.input({count}, x).output_over(0).run(threads);
      for (size_t i = 0; i < x.size(); ++i) QVERIFY(std::abs(apart.result()[i] - expected[i]) <= 1e-6 * std::abs(x[i]));
      QCOMPARE(over.result(), apart.result());
      if (threads == 1) first = apart.result();
      QCOMPARE(apart.result(), first);
    }
  }
}

void KernelElementwiseTest::gelu_grad_is_the_slope_of_gelu() {
  Random random(2);
  const int64_t count = 3001;
  const std::vector<float> x = random.normals(count, 3), dy = random.normals(count);
  std::vector<double> expected(count);
  for (int64_t i = 0; i < count; ++i) {
    const double h = 1e-5;
    expected[i] = dy[i] * (naive_gelu(x[i] + h) - naive_gelu(x[i] - h)) / (2 * h);
  }
  for (int threads : {1, 2}) {
    KernelCase apart("gelu_grad"), over("gelu_grad");
    apart.input({count}, x).input({count}, dy).output({count}).run(threads);
    over.input({count}, x).input({count}, dy).output_over(1).run(threads);
    QVERIFY(difference(apart.result(), expected) < 1e-6);
    QCOMPARE(over.result(), apart.result());
  }
}

void KernelElementwiseTest::gelu_stays_finite_for_large_numbers() {
  const std::vector<float> x{-1e30f, -1e15f, -1000, -30, 0, 30, 1000, 1e15f, 1e30f};
  const std::vector<float> ones(x.size(), 1.0f);
  KernelCase gelu("gelu"), grad("gelu_grad");
  const Shape shape{static_cast<int64_t>(x.size())};
  gelu.input(shape, x).output(shape).run();
  grad.input(shape, x).input(shape, ones).output(shape).run();
  for (size_t i = 0; i < x.size(); ++i) {
    QCOMPARE(gelu.result()[i], std::max(0.0f, x[i]));
    QCOMPARE(grad.result()[i], x[i] > 0 ? 1.0f : x[i] < 0 ? 0.0f : 0.5f);
  }
}

void KernelElementwiseTest::dropout_keeps_what_the_generator_says_of_the_whole_array() {
  Random random(3);
  const Shape whole{6, 10, 700};
  const double rate = 0.3;
  for (int trial = 0; trial < 20; ++trial) {
    Shape part;
    Shape offset;
    for (int64_t size : whole) {
      part.push_back(random.integer(1, size));
      offset.push_back(random.integer(0, size - part.back()));
    }
    if (trial % 3 == 0) part[2] = whole[2], offset[2] = 0;
    const std::vector<float> x = random.normals(element_count(part));
    const int64_t step = random.integer(0, 1000);
    const Key key = fold_in(fold_in(key_from_seed(5), static_cast<uint32_t>(step)), 0x89abcdef);
    std::vector<float> expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t n = static_cast<int64_t>(i);
      const int64_t c = n % part[2], r = n / part[2] % part[1], b = n / part[2] / part[1];
      const int64_t index = ((b + offset[0]) * whole[1] + r + offset[1]) * whole[2] + c + offset[2];
      expected[i] = bernoulli(key, static_cast<uint64_t>(index), 0.7f) ? x[i] / 0.7f : 0.0f;
    }
    for (int threads : {1, 2}) {
      KernelCase apart("dropout", dropout_attributes(rate)), over("dropout", dropout_attributes(rate));
      apart.input(part, x).input_part(whole, offset).output(part).output_part(whole, offset).run(threads, step);
      over.input(part, x).input_part(whole, offset).output_over(0).output_part(whole, offset).run(threads, step);
      QVERIFY(difference(apart.result(), doubles(expected)) < 1e-7);
      QCOMPARE(over.result(), apart.result());
    }
  }
}

void KernelElementwiseTest::dropout_with_rate_zero_changes_nothing() {
  Random random(4);
  const std::vector<float> x = random.normals(3000);
  for (int threads : {1, 2}) {
    KernelCase apart("dropout", DropoutAttributes{}), over("dropout", DropoutAttributes{});
    apart.input({3000}, x).output({3000}).run(threads);
    over.input({3000}, x).output_over(0).run(threads);
    QCOMPARE(apart.result(), x);
    QCOMPARE(over.result(), x);
  }
}

void KernelElementwiseTest::adam_follows_its_definition_over_steps() {
  Random random(5);
  const Attributes attributes = AdamAttributes{1e-2, 0.9, 0.999, 1e-8};
  const int64_t count = 2500;
  std::vector<float> parameter = random.normals(count), mu(count, 0.0f), nu(count, 0.0f);
  std::vector<double> p = doubles(parameter), m(count, 0.0), v(count, 0.0);
  for (int64_t step = 0; step < 20; ++step) {
    const std::vector<float> gradient = random.normals(count, 0.1f);
    const double t = static_cast<double>(step + 1);
    for (int64_t i = 0; i < count; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * gradient[i];
      v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
      p[i] -= 1e-2 * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    KernelCase test("adam", attributes);
    test.input({count}, parameter).input({count}, gradient).input({count}, mu).input({count}, nu);
    test.output_over(0).output_over(2).output_over(3).run(1 + step % 2, step);
    parameter = test.result(0);
    mu = test.result(1);
    nu = test.result(2);
    QVERIFY(difference(mu, m) < 1e-6);
    QVERIFY(difference(nu, v) < 1e-6);
    QVERIFY(difference(parameter, p) < 2e-6);
  }
}

REGISTER_TEST(KernelElementwiseTest)

}  // namespace kernel_elementwise_test

#include "kernel_elementwise_test.moc"
