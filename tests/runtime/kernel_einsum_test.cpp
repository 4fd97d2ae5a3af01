#include <QtTest>

#include <map>

#include "engine/base/error.h"
#include "engine/ops/equation.h"
#include "engine/runtime/kernels/matrix_product.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_einsum_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

using Sizes = std::map<char, int64_t>;

Shape shape_of(const std::string& labels, const Sizes& sizes) {
  Shape shape;
  for (char label : labels) shape.push_back(sizes.at(label));
  return shape;
}

// Sum over every label, by its definition.
std::vector<double> naive_einsum(const std::string& a, const std::string& b, const std::string& c, const Sizes& sizes,
                                 const std::vector<float>& left, const std::vector<float>& right) {
  std::string labels;
  for (char label : a + b) {
    if (labels.find(label) == std::string::npos) labels += label;
  }
  auto stride = [&](const std::string& of, char label) {
    int64_t stride = 1;
    for (size_t d = of.size(); d-- > 0; stride *= sizes.at(of[d])) {
      if (of[d] == label) return stride;
    }
    return int64_t{0};
  };
  std::vector<double> result(static_cast<size_t>(element_count(shape_of(c, sizes))), 0.0);
  auto visit = [&](auto&& self, size_t depth, int64_t i, int64_t j, int64_t k) -> void {
    if (depth == labels.size()) {
      result[k] += static_cast<double>(left[i]) * right[j];
      return;
    }
    const char label = labels[depth];
    const int64_t di = stride(a, label), dj = stride(b, label), dk = stride(c, label);
    for (int64_t n = 0; n < sizes.at(label); ++n) self(self, depth + 1, i + n * di, j + n * dj, k + n * dk);
  };
  visit(visit, 0, 0, 0, 0);
  return result;
}

struct Product {
  std::string a, b, c;
  std::string text() const { return a + "," + b + "->" + c; }
};

// Every storage order of rows {x, y}, columns {u, v}, contraction {p, q}.
std::vector<Product> all_orders() {
  std::vector<Product> all;
  for (const std::string a : {"xypq", "pqxy"}) {
    for (const std::string b : {"pquv", "uvpq"}) {
      for (const std::string c : {"xyuv", "uvxy"}) all.push_back({a, b, c});
    }
  }
  return all;
}

void compare(const Product& equation, const Sizes& sizes, Random& random, double tolerance) {
  const Shape a = shape_of(equation.a, sizes), b = shape_of(equation.b, sizes);
  const std::vector<float> left = random.normals(element_count(a)), right = random.normals(element_count(b));
  const std::vector<double> expected = naive_einsum(equation.a, equation.b, equation.c, sizes, left, right);
  for (int threads : {1, 2, 3, 4}) {
    KernelCase test("einsum", EquationAttributes{equation.text()});
    test.input(a, left).input(b, right).output(shape_of(equation.c, sizes)).run(threads, 0, 2);
    const double error = difference(test.result(), expected);
    QVERIFY2(error < tolerance, qPrintable(QString::fromStdString(equation.text()) + QString(" %1").arg(error)));
    QVERIFY(test.guards_intact);
  }
}

}  // namespace

class KernelEinsumTest : public QObject {
  Q_OBJECT

 private slots:
  void small_products_in_every_storage_order_equal_their_definition();
  void long_products_in_every_storage_order_equal_their_definition();
  void model_equations_equal_their_definition();
  void equations_that_are_not_one_product_are_refused();
  void needed_workspace_stays_within_what_is_given();
  void too_small_a_workspace_never_changes_the_result();
};

void KernelEinsumTest::small_products_in_every_storage_order_equal_their_definition() {
  Random random(1);
  for (int trial = 0; trial < 12; ++trial) {
    Sizes sizes;
    for (char label : std::string("xypquv")) sizes[label] = random.integer(1, 7);
    for (const Product& equation : all_orders()) compare(equation, sizes, random, 1e-6);
  }
}

void KernelEinsumTest::long_products_in_every_storage_order_equal_their_definition() {
  Random random(2);
  for (const Sizes& sizes : {Sizes{{'x', 20}, {'y', 15}, {'p', 30}, {'q', 43}, {'u', 3}, {'v', 5}},
                             Sizes{{'x', 5}, {'y', 3}, {'p', 16}, {'q', 16}, {'u', 16}, {'v', 20}},
                             Sizes{{'x', 3}, {'y', 100}, {'p', 2}, {'q', 35}, {'u', 1}, {'v', 70}}}) {
    for (const Product& equation : all_orders()) compare(equation, sizes, random, 2e-6);
  }
}

void KernelEinsumTest::model_equations_equal_their_definition() {
  Random random(3);
  const Sizes sizes{{'b', 5}, {'s', 67}, {'e', 24}, {'h', 3}, {'d', 8}, {'f', 40}, {'v', 33}};
  for (const Product& equation : std::vector<Product>{{"bse", "ehd", "bshd"},
                                                      {"bshd", "ehd", "bse"},
                                                      {"bse", "bshd", "ehd"},
                                                      {"bshd", "hde", "bse"},
                                                      {"bse", "hde", "bshd"},
                                                      {"bshd", "bse", "hde"},
                                                      {"bse", "ef", "bsf"},
                                                      {"bsf", "ef", "bse"},
                                                      {"bse", "bsf", "ef"},
                                                      {"bse", "ve", "bsv"},
                                                      {"bse", "bsv", "ve"},
                                                      {"bse", "e", "bs"},
                                                      {"e", "ehd", "hd"},
                                                      {"b", "s", "bs"}}) {
    compare(equation, sizes, random, 2e-6);
  }
}

void KernelEinsumTest::equations_that_are_not_one_product_are_refused() {
  const Sizes sizes{{'b', 2}, {'i', 2}, {'j', 2}, {'k', 2}, {'l', 2}};
  for (const Product& equation : std::vector<Product>{{"bik", "bkj", "bij"},   // batch
                                                      {"ikj", "kl", "ijl"},    // rows apart
                                                      {"ikl", "lkj", "ij"},    // contraction in two orders
                                                      {"ijk", "kl", "jil"},    // rows in two orders
                                                      {"ikl", "kj", "ij"}}) {  // l is only in one
    const std::vector<TensorType> operands{{shape_of(equation.a, sizes), DType::f32},
                                           {shape_of(equation.b, sizes), DType::f32}};
    try {
      op_definition("einsum").infer(EquationAttributes{equation.text()}, operands);
      QFAIL(equation.text().c_str());
    } catch (const Failure& failure) {
      QVERIFY(failure.errors()[0].message.find(equation.text()) != std::string::npos);
    }
  }
}

void KernelEinsumTest::needed_workspace_stays_within_what_is_given() {
  Random random(4);
  for (int trial = 0; trial < 60; ++trial) {
    MatrixProductShape shape{.m = random.integer(1, 3000), .n = random.integer(1, 3000), .k = random.integer(1, 3000)};
    shape.transpose_a = random.integer(0, 1);
    shape.transpose_b = random.integer(0, 1);
    shape.lda = shape.transpose_a ? shape.m : shape.k;
    shape.ldb = shape.transpose_b ? shape.k : shape.n;
    shape.ldc = shape.n;
    const int threads = static_cast<int>(random.integer(1, 2));
    const int64_t bytes = threads * ((4 << 20) + (544 << 10));
    QVERIFY(MatrixProduct(shape, threads, bytes).needed_bytes() <= bytes);
  }
}

void KernelEinsumTest::too_small_a_workspace_never_changes_the_result() {
  Random random(5);
  const MatrixProductShape shape{.m = 300, .n = 65, .k = 700, .transpose_a = true, .lda = 300, .ldb = 65, .ldc = 65};
  const std::vector<float> a = random.normals(shape.m * shape.k), b = random.normals(shape.n * shape.k);
  const std::vector<double> expected = naive_einsum("km", "kn", "mn", {{'k', 700}, {'m', 300}, {'n', 65}}, a, b);
  int refused = 0;
  for (int64_t bytes : {0, 1 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20, 4 << 20}) {
    try {
      MatrixProduct product(shape, 1, bytes);
      QVERIFY(product.needed_bytes() <= bytes);
      std::vector<float> c(static_cast<size_t>(shape.m * shape.n));
      std::vector<char> memory(static_cast<size_t>(bytes) + 64);
      void* start = memory.data();
      size_t space = memory.size();
      product.run(a.data(), b.data(), c.data(), std::align(64, static_cast<size_t>(bytes), start, space));
      QVERIFY(difference(c, expected) < 2e-6);
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors()[0].code, std::string("workspace"));
      ++refused;
    }
  }
  QVERIFY(refused < 7);
}

REGISTER_TEST(KernelEinsumTest)

}  // namespace kernel_einsum_test

#include "kernel_einsum_test.moc"
