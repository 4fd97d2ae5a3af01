#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QtTest>

#include "engine/base/error.h"
#include "engine/ops/workspace.h"
#include "engine/runtime/kernels/serial_product.h"
#include "engine/runtime/kernels/storage.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace matrix_product_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

MatrixProductShape random_shape(Random& random, int64_t largest, DType operands = DType::f32,
                                DType result = DType::f32) {
  MatrixProductShape shape{.m = random.integer(1, largest),
                           .n = random.integer(1, largest),
                           .k = random.integer(1, largest),
                           .transpose_a = random.integer(0, 1) == 1,
                           .transpose_b = random.integer(0, 1) == 1,
                           .accumulate = result == DType::f32 && random.integer(0, 1) == 1,
                           .operands = operands,
                           .result = result};
  const int64_t apart = random.integer(0, 1) * 5;
  shape.lda = (shape.transpose_a ? shape.m : shape.k) + random.integer(0, apart);
  shape.ldb = (shape.transpose_b ? shape.k : shape.n) + random.integer(0, apart);
  shape.ldc = shape.n + random.integer(0, apart);
  return shape;
}

// An array of f32 or bf16 in memory that starts `shift` elements behind a 64-byte border.
class Stored {
 public:
  Stored(const std::vector<float>& values, DType dtype, size_t shift) : dtype_(dtype), count_(values.size()) {
    storage_.resize(values.size() * sizeof(float) + 256);
    void* aligned = storage_.data();
    size_t space = storage_.size();
    start_ = static_cast<char*>(std::align(64, 1, aligned, space)) + shift * static_cast<size_t>(byte_size(dtype));
    if (dtype == DType::bf16) {
      convert(values.data(), static_cast<BFloat16*>(start()), static_cast<int64_t>(count_));
    } else {
      std::copy(values.begin(), values.end(), static_cast<float*>(start()));
    }
  }
  void* start() { return start_; }
  std::vector<float> values() {
    std::vector<float> result(count_);
    if (dtype_ == DType::bf16) {
      convert(static_cast<const BFloat16*>(start()), result.data(), static_cast<int64_t>(count_));
    } else {
      std::copy_n(static_cast<const float*>(start()), count_, result.begin());
    }
    return result;
  }

 private:
  DType dtype_;
  size_t count_;
  std::vector<char> storage_;
  char* start_;
};

std::vector<float> rounded(std::vector<float> values, DType dtype) { return Stored(values, dtype, 0).values(); }

// A random product, and its definition.
struct Problem {
  MatrixProductShape shape;
  std::vector<float> a, b, c;

  Problem(Random& random, MatrixProductShape of)
      : shape(of),
        a(rounded(random.normals((of.transpose_a ? of.k : of.m) * of.lda), of.operands)),
        b(rounded(random.normals((of.transpose_b ? of.n : of.k) * of.ldb), of.operands)),
        c(rounded(random.normals(of.m * of.ldc), of.result)) {}

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

  // `product` is a SerialProduct or a MatrixProduct.
  template <class Product>
  std::vector<float> run(Product& product, size_t shift = 0) const {
    struct alignas(64) Line {
      char bytes[64];
    };
    std::vector<Line> workspace(static_cast<size_t>(product.needed_bytes() / 64 + 1));
    Stored left(a, shape.operands, shift), right(b, shape.operands, shift), result(c, shape.result, shift);
    product.run(left.start(), right.start(), result.start(), workspace.data());
    return result.values();
  }
};

// The largest error in units of what storing the result may cost.
double error(const Problem& problem, const std::vector<float>& found) {
  const std::vector<double> expected = problem.expected();
  if (problem.shape.result == DType::f32) return difference(found, expected) / 2e-6;
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double allowed = std::abs(expected[i]) / 256 + 1e-5 * std::sqrt(static_cast<double>(problem.shape.k));
    const double off = std::abs(found[i] - expected[i]) / allowed;
    worst = off <= worst ? worst : off;
  }
  return worst;
}

}  // namespace

class MatrixProductTest : public QObject {
  Q_OBJECT

 private slots:
  void products_by_eigen_equal_their_definition_in_any_workspace();
  void products_by_eigen_are_the_same_bits_at_every_address();
  void products_by_onednn_with_aliasing_rows_equal_their_definition_in_any_workspace();
  void small_products_are_eigens_and_large_ones_onednns_where_the_build_has_it();
  void products_of_bf16_are_those_of_the_rounded_operands_by_every_method();
  void sums_of_bf16_products_are_f32();
  void every_bf16_product_fits_the_declared_workspace();
  void products_of_other_types_are_refused();
  void eigen_neither_allocates_nor_leaves_functions_to_the_linker();
};

void MatrixProductTest::products_by_eigen_equal_their_definition_in_any_workspace() {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const Problem problem(random, random_shape(random, trial % 10 == 9 ? 400 : 60));
    const auto& shape = problem.shape;
    for (int64_t bytes :
         {int64_t{4096}, int64_t{64} << 10, matrix_product_workspace_bytes(shape.m, shape.n, shape.k, 1)}) {
      const auto product = make_eigen_product(shape, bytes);
      QVERIFY(product->needed_bytes() <= bytes);
      QVERIFY(error(problem, problem.run(*product)) < 1);
    }
  }
}

void MatrixProductTest::products_by_eigen_are_the_same_bits_at_every_address() {
  Random random(2);
  for (int trial = 0; trial < 50; ++trial) {
    const Problem problem(random, random_shape(random, 60));
    const auto product = make_eigen_product(problem.shape, 1 << 20);
    const std::vector<float> first = problem.run(*product);
    for (size_t shift : {1, 4, 11}) QCOMPARE(problem.run(*product, shift), first);
  }
}

void MatrixProductTest::products_by_onednn_with_aliasing_rows_equal_their_definition_in_any_workspace() {
  if (!has_onednn()) QSKIP("needs oneDNN");
  Random random(6);
  for (int trial = 0; trial < 24; ++trial) {
    MatrixProductShape shape{.m = random.integer(1, 600), .n = random.integer(1, 300), .k = random.integer(1, 700)};
    shape.transpose_a = true;
    shape.accumulate = trial % 2 == 1;
    shape.lda = trial % 3 == 0 ? shape.m : 1024;
    shape.ldb = trial % 3 == 1 ? shape.n : 512;
    shape.ldc = shape.n + trial % 3;
    const Problem problem(random, shape);
    const std::vector<float> usual = problem.run(*make_onednn_product(shape, true, 4 << 20));
    for (int64_t bytes :
         {int64_t{0}, int64_t{512} << 10, matrix_product_workspace_bytes(shape.m, shape.n, shape.k, 1)}) {
      const auto product = make_onednn_product(shape, true, bytes);
      QVERIFY(product->needed_bytes() <= bytes);
      QVERIFY(error(problem, problem.run(*product)) < 1);
    }
    QCOMPARE(problem.run(*make_onednn_product(shape, true, 4 << 20), 3), usual);
  }
}

void MatrixProductTest::small_products_are_eigens_and_large_ones_onednns_where_the_build_has_it() {
  const MatrixProductShape small{.m = 64, .n = 1, .k = 32, .lda = 32, .ldb = 1, .ldc = 1};
  const MatrixProductShape large{.m = 512, .n = 512, .k = 512, .lda = 512, .ldb = 512, .ldc = 512};
  QCOMPARE(matrix_product_method(small), MatrixProductMethod::eigen);
  QCOMPARE(matrix_product_method(large), has_onednn() ? MatrixProductMethod::onednn : MatrixProductMethod::eigen);
}

void MatrixProductTest::products_of_bf16_are_those_of_the_rounded_operands_by_every_method() {
  Random random(3);
  for (int trial = 0; trial < 48; ++trial) {
    const MatrixProductShape shape =
        random_shape(random, trial % 8 == 7 ? 400 : 60, DType::bf16, trial % 2 ? DType::bf16 : DType::f32);
    const Problem problem(random, shape);
    const int64_t bytes = matrix_product_workspace_bytes(shape.m, shape.n, shape.k, 1, DType::bf16);
    for (bool widened : {true, false}) {
      if (!widened && !has_onednn_bf16()) continue;
      QVERIFY(error(problem, problem.run(*make_tiled_product(shape, widened, bytes))) < 1);
    }
    for (int threads : {1, 2, 3}) {
      MatrixProduct product(shape, threads, threads * bytes);
      QVERIFY(error(problem, problem.run(product)) < 1);
    }
  }
}

void MatrixProductTest::sums_of_bf16_products_are_f32() {
  // A running sum in bf16 of ones stops at 256.
  for (int64_t size : {3, 80}) {
    for (bool transpose : {false, true}) {
      MatrixProductShape shape{.m = size, .n = size, .k = 5000, .transpose_a = transpose, .operands = DType::bf16};
      shape.lda = transpose ? size : shape.k;
      shape.ldb = shape.ldc = size;
      const int64_t bytes = matrix_product_workspace_bytes(size, size, shape.k, 1, DType::bf16);
      for (DType result : {DType::f32, DType::bf16}) {
        shape.result = result;
        Random random(4);
        Problem problem(random, shape);
        std::fill(problem.a.begin(), problem.a.end(), 1.0f);
        std::fill(problem.b.begin(), problem.b.end(), 1.0f);
        MatrixProduct product(shape, 1, bytes);
        const auto widened = make_tiled_product(shape, true, bytes);
        const float expected = rounded({5000}, result)[0];
        for (float value : problem.run(product)) QCOMPARE(value, expected);
        for (float value : problem.run(*widened)) QCOMPARE(value, expected);
      }
    }
  }
}

void MatrixProductTest::every_bf16_product_fits_the_declared_workspace() {
  Random random(5);
  for (int trial = 0; trial < 60; ++trial) {
    const MatrixProductShape shape = random_shape(random, 3000, DType::bf16, trial % 2 ? DType::bf16 : DType::f32);
    const int64_t bytes = matrix_product_workspace_bytes(shape.m, shape.n, shape.k, 1, DType::bf16);
    QVERIFY(make_tiled_product(shape, true, bytes)->needed_bytes() <= bytes);
    QVERIFY(MatrixProduct(shape, 1, bytes).needed_bytes() <= bytes);
  }
}

void MatrixProductTest::products_of_other_types_are_refused() {
  for (const MatrixProductShape& shape :
       {MatrixProductShape{.result = DType::bf16}, MatrixProductShape{.operands = DType::i32, .result = DType::i32},
        MatrixProductShape{.accumulate = true, .operands = DType::bf16, .result = DType::bf16}}) {
    QVERIFY_EXCEPTION_THROWN(MatrixProduct(shape, 1, 1 << 20), Failure);
  }
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

REGISTER_TEST(MatrixProductTest)

}  // namespace matrix_product_test

#include "matrix_product_test.moc"
