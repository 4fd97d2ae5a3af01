#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QtTest>

#include "engine/ops/workspace.h"
#include "engine/runtime/kernels/serial_product.h"
#include "tests/runtime/kernel_case.h"

using namespace shardscope;
using namespace shardscope::testing;

namespace {

MatrixProductShape random_shape(Random& random, int64_t largest) {
  MatrixProductShape shape{.m = random.integer(1, largest),
                           .n = random.integer(1, largest),
                           .k = random.integer(1, largest),
                           .transpose_a = random.integer(0, 1) == 1,
                           .transpose_b = random.integer(0, 1) == 1,
                           .accumulate = random.integer(0, 1) == 1};
  shape.lda = (shape.transpose_a ? shape.m : shape.k) + random.integer(0, 5);
  shape.ldb = (shape.transpose_b ? shape.k : shape.n) + random.integer(0, 5);
  shape.ldc = shape.n + random.integer(0, 5);
  return shape;
}

// A random product, and its definition.
struct Problem {
  MatrixProductShape shape;
  std::vector<float> a, b, c;

  Problem(Random& random, int64_t largest)
      : shape(random_shape(random, largest)),
        a(random.normals((shape.transpose_a ? shape.k : shape.m) * shape.lda)),
        b(random.normals((shape.transpose_b ? shape.n : shape.k) * shape.ldb)),
        c(random.normals(shape.m * shape.ldc)) {}

  std::vector<double> expected() const {
    std::vector<double> result = doubles(c);
    for (int64_t i = 0; i < shape.m; ++i) {
      for (int64_t j = 0; j < shape.n; ++j) {
        double sum = shape.accumulate ? c[i * shape.ldc + j] : 0;
        for (int64_t k = 0; k < shape.k; ++k) {
          sum += static_cast<double>(a[shape.transpose_a ? k * shape.lda + i : i * shape.lda + k]) *
                 b[shape.transpose_b ? j * shape.ldb + k : k * shape.ldb + j];
        }
        result[i * shape.ldc + j] = sum;
      }
    }
    return result;
  }

  // With the operands `shift` floats behind a 64-byte border.
  std::vector<float> run(SerialProduct& product, size_t shift = 0) const {
    alignas(64) static float workspace[1 << 20];
    Operand left(a, shift), right(b, shift), result(c, shift);
    product.run(left.start, right.start, result.start, workspace);
    return {result.start, result.start + c.size()};
  }

 private:
  struct Operand {
    Operand(const std::vector<float>& values, size_t shift) : storage(values.size() + 32) {
      void* aligned = storage.data();
      size_t space = storage.size() * sizeof(float);
      start = static_cast<float*>(std::align(64, values.size() * sizeof(float), aligned, space)) + shift;
      std::copy(values.begin(), values.end(), start);
    }
    std::vector<float> storage;
    float* start;
  };
};

}  // namespace

class MatrixProductTest : public QObject {
  Q_OBJECT

 private slots:
  void products_by_eigen_equal_their_definition_in_any_workspace();
  void products_by_eigen_are_the_same_bits_at_every_address();
  void small_products_are_eigens_and_large_ones_onednns_where_the_build_has_it();
  void eigen_neither_allocates_nor_leaves_functions_to_the_linker();
};

void MatrixProductTest::products_by_eigen_equal_their_definition_in_any_workspace() {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const Problem problem(random, trial % 10 == 9 ? 400 : 60);
    const auto& shape = problem.shape;
    for (int64_t bytes :
         {int64_t{4096}, int64_t{64} << 10, matrix_product_workspace_bytes(shape.m, shape.n, shape.k, 1)}) {
      const auto product = make_eigen_product(shape, bytes);
      QVERIFY(product->needed_bytes() <= bytes);
      QVERIFY(difference(problem.run(*product), problem.expected()) < 2e-6);
    }
  }
}

void MatrixProductTest::products_by_eigen_are_the_same_bits_at_every_address() {
  Random random(2);
  for (int trial = 0; trial < 50; ++trial) {
    const Problem problem(random, 60);
    const auto product = make_eigen_product(problem.shape, 1 << 20);
    const std::vector<float> first = problem.run(*product);
    for (size_t shift : {1, 4, 11}) QCOMPARE(problem.run(*product, shift), first);
  }
}

void MatrixProductTest::small_products_are_eigens_and_large_ones_onednns_where_the_build_has_it() {
  const MatrixProductShape small{.m = 64, .n = 1, .k = 32, .lda = 32, .ldb = 1, .ldc = 1};
  const MatrixProductShape large{.m = 512, .n = 512, .k = 512, .lda = 512, .ldb = 512, .ldc = 512};
  QCOMPARE(matrix_product_method(small), MatrixProductMethod::eigen);
  QCOMPARE(matrix_product_method(large), has_onednn() ? MatrixProductMethod::onednn : MatrixProductMethod::eigen);
}

// What the linker may choose among (weak symbols) must not be code of a wider machine.
void MatrixProductTest::eigen_neither_allocates_nor_leaves_functions_to_the_linker() {
  const QString nm = QStandardPaths::findExecutable("nm");
  if (nm.isEmpty()) QSKIP("needs nm");
  QProcess process;
  process.start(nm, {"-C", SHARDSCOPE_BINARY_DIR "/libeigen_gemm.a"});
  QVERIFY(process.waitForFinished());
  const QString symbols = process.readAllStandardOutput();
  QVERIFY(symbols.contains("eigen_gemm_baseline"));
  QVERIFY(!symbols.contains(QRegularExpression(" U (malloc|calloc|realloc|posix_memalign|operator new)")));
  const QRegularExpression weak("^\\S+ [WV] (?!.*(Eigen_(baseline|v3|v4)::|DW\\.ref\\.)).*$",
                                QRegularExpression::MultilineOption);
  QVERIFY2(!symbols.contains(weak), qPrintable(weak.match(symbols).captured()));
}

QTEST_APPLESS_MAIN(MatrixProductTest)
#include "matrix_product_test.moc"
