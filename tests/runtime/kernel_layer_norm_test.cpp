#include <QtTest>

#include <cmath>

#include "engine/ops/layer_norm.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_layer_norm_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

constexpr double epsilon = 1e-6;

struct Norm {
  int64_t rows, columns;
  std::vector<float> x, scale, bias, dy;

  Norm(Random& random, int64_t r, int64_t c)
      : rows(r),
        columns(c),
        x(random.normals(r * c, 2)),
        scale(random.normals(c)),
        bias(random.normals(c)),
        dy(random.normals(r * c)) {
    for (float& value : x) value += 0.5f;
  }

  Attributes attributes() const { return LayerNormAttributes{epsilon, columns}; }
  Shape all() const { return {rows, columns}; }

  std::vector<double> forward(const std::vector<double>& from) const {
    std::vector<double> y(from.size());
    for (int64_t r = 0; r < rows; ++r) {
      double mean = 0, square = 0;
      for (int64_t c = 0; c < columns; ++c) mean += from[r * columns + c] / columns;
      for (int64_t c = 0; c < columns; ++c) square += std::pow(from[r * columns + c] - mean, 2) / columns;
      for (int64_t c = 0; c < columns; ++c) {
        y[r * columns + c] = (from[r * columns + c] - mean) / std::sqrt(square + epsilon) * scale[c] + bias[c];
      }
    }
    return y;
  }

  // Sums over the columns [begin, end), as a device that holds them makes them.
  std::vector<std::vector<float>> partial(const std::string& op, int64_t begin, int64_t end, int threads) const {
    auto cut = [&](const std::vector<float>& from) {
      std::vector<float> part;
      for (size_t i = 0; i < from.size(); ++i) {
        const int64_t column = static_cast<int64_t>(i) % columns;
        if (column >= begin && column < end) part.push_back(from[i]);
      }
      return part;
    };
    KernelCase test(op, attributes());
    const Shape local{rows, end - begin};
    if (op == "layer_norm_moments") {
      test.input(local, cut(x));
    } else {
      test.input(local, cut(dy)).input(local, cut(x)).input({rows}, sums[0]).input({rows}, sums[1]);
      test.input({end - begin}, cut(scale));
    }
    test.output({rows}).output({rows}).run(threads);
    return {test.result(0), test.result(1)};
  }

  std::vector<std::vector<float>> total(const std::string& op, int64_t cut, int threads) const {
    auto sum = partial(op, 0, cut == 0 ? columns : cut, threads);
    if (cut == 0) return sum;
    const auto rest = partial(op, cut, columns, threads);
    for (int i : {0, 1}) {
      for (int64_t r = 0; r < rows; ++r) sum[i][r] += rest[i][r];
    }
    return sum;
  }

  std::vector<std::vector<float>> sums;
};

Norm random_norm(Random& random) {
  Norm norm(random, random.integer(1, 150), random.integer(2, 90));
  norm.sums = norm.total("layer_norm_moments", 0, 1);
  return norm;
}

}  // namespace

class KernelLayerNormTest : public QObject {
  Q_OBJECT

 private slots:
  void output_is_normalised_scaled_and_shifted();
  void moments_of_split_columns_add_up();
  void input_gradient_is_the_slope();
  void parameter_gradients_are_the_slopes();
  void constant_rows_stay_finite();
};

void KernelLayerNormTest::output_is_normalised_scaled_and_shifted() {
  Random random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const Norm norm = random_norm(random);
    for (int threads : {1, 2}) {
      KernelCase test("layer_norm", norm.attributes());
      test.input(norm.all(), norm.x).input({norm.rows}, norm.sums[0]).input({norm.rows}, norm.sums[1]);
      test.input({norm.columns}, norm.scale).input({norm.columns}, norm.bias).output(norm.all()).run(threads);
      QVERIFY(difference(test.result(), norm.forward(doubles(norm.x))) < 1e-4);
    }
  }
}

void KernelLayerNormTest::moments_of_split_columns_add_up() {
  Random random(2);
  for (int trial = 0; trial < 20; ++trial) {
    const Norm norm = random_norm(random);
    const int64_t cut = random.integer(1, norm.columns - 1);
    for (const std::string op : {"layer_norm_moments", "layer_norm_grad_moments"}) {
      const auto whole = norm.total(op, 0, 1), parts = norm.total(op, cut, 2);
      for (int i : {0, 1}) QVERIFY(difference(parts[i], doubles(whole[i])) < 2e-6);
      QCOMPARE(norm.total(op, 0, 2), whole);
    }
  }
}

void KernelLayerNormTest::input_gradient_is_the_slope() {
  Random random(3);
  for (int trial = 0; trial < 20; ++trial) {
    const Norm norm = random_norm(random);
    const auto g = norm.total("layer_norm_grad_moments", trial % 2 ? norm.columns / 2 : 0, 1);
    std::vector<float> first;
    for (int threads : {1, 2}) {
      auto prepare = [&](KernelCase& test) {
        test.input(norm.all(), norm.dy).input(norm.all(), norm.x).input({norm.rows}, norm.sums[0]);
        test.input({norm.rows}, norm.sums[1]).input({norm.columns}, norm.scale).input({norm.rows}, g[0]);
        test.input({norm.rows}, g[1]);
      };
      KernelCase apart("layer_norm_grad_input", norm.attributes()), over("layer_norm_grad_input", norm.attributes());
      prepare(apart);
      prepare(over);
      apart.output(norm.all()).run(threads);
      over.output_over(0).run(threads);
      QCOMPARE(over.result(), apart.result());
      if (threads == 1) first = apart.result();
      QCOMPARE(apart.result(), first);
    }
    double largest = 0;
    for (float value : first) largest = std::max<double>(largest, std::abs(value));
    for (int probe = 0; probe < 20; ++probe) {
      const int64_t at = random.integer(0, norm.rows * norm.columns - 1);
      const double h = 1e-5;
      std::vector<double> up = doubles(norm.x), down = up;
      up[at] += h;
      down[at] -= h;
      const std::vector<double> high = norm.forward(up), low = norm.forward(down);
      double slope = 0;
      for (size_t i = 0; i < high.size(); ++i) slope += norm.dy[i] * (high[i] - low[i]) / (2 * h);
      QVERIFY2(std::abs(first[at] - slope) < 2e-4 * largest, qPrintable(QString("%1 %2").arg(first[at]).arg(slope)));
    }
  }
}

void KernelLayerNormTest::parameter_gradients_are_the_slopes() {
  Random random(4);
  for (int trial = 0; trial < 20; ++trial) {
    Norm norm = trial == 0 ? Norm(random, 300, 1100) : random_norm(random);
    norm.sums = norm.total("layer_norm_moments", 0, 1);
    Norm plain = norm;
    std::fill(plain.scale.begin(), plain.scale.end(), 1.0f);
    std::fill(plain.bias.begin(), plain.bias.end(), 0.0f);
    const std::vector<double> xhat = plain.forward(doubles(norm.x));
    std::vector<double> dscale(norm.columns, 0.0), dbias(norm.columns, 0.0);
    for (size_t i = 0; i < xhat.size(); ++i) {
      dscale[i % norm.columns] += norm.dy[i] * xhat[i];
      dbias[i % norm.columns] += norm.dy[i];
    }
    std::vector<float> first;
    for (int threads : {1, 2}) {
      KernelCase test("layer_norm_grad_parameters", norm.attributes());
      test.input(norm.all(), norm.dy).input(norm.all(), norm.x).input({norm.rows}, norm.sums[0]);
      test.input({norm.rows}, norm.sums[1]).output({norm.columns}).output({norm.columns}).run(threads);
      QVERIFY(difference(test.result(0), dscale) < 1e-4);
      QVERIFY(difference(test.result(1), dbias) < 1e-6);
      if (threads == 1) first = test.result(0);
      QCOMPARE(test.result(0), first);
    }
  }
}

void KernelLayerNormTest::constant_rows_stay_finite() {
  Random random(5);
  Norm norm(random, 4, 33);
  std::fill(norm.x.begin(), norm.x.end(), 1000.1f);
  norm.sums = norm.total("layer_norm_moments", 0, 1);
  KernelCase test("layer_norm", norm.attributes());
  test.input(norm.all(), norm.x).input({4}, norm.sums[0]).input({4}, norm.sums[1]);
  test.input({33}, norm.scale).input({33}, norm.bias).output(norm.all()).run();
  for (float value : test.result()) QVERIFY(std::isfinite(value));
}

REGISTER_TEST(KernelLayerNormTest)

}  // namespace kernel_layer_norm_test

#include "kernel_layer_norm_test.moc"
