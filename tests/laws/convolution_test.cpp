#include <QtTest>

#include "engine/ops/conv.h"
#include "tests/reference/reference.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace convolution_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

constexpr int64_t pictures = 3, height = 37, width = 41, channels = 16, features = 8;

ConvAttributes conv_of(int64_t stride, ConvPadding padding) {
  return {conv_dimension(height, 3, stride, padding), conv_dimension(width, 4, stride, padding)};
}

reference::Array in_doubles(const Shape& shape, const std::vector<float>& values) {
  return {{shape, DType::f32}, Eigen::Map<const Eigen::ArrayXf>(values.data(), values.size()).cast<double>()};
}

// Runs the op on random operands, on some threads, and says how far the result is from the reference's.
void agree(const char* op, const ConvAttributes& conv, const Shape& a, const Shape& b, const Shape& result) {
  Random random(3);
  const std::vector<float> left = random.normals(element_count(a)), right = random.normals(element_count(b));
  const std::vector<reference::Array> operands{in_doubles(a, left), in_doubles(b, right)};
  const reference::Values expected = reference::evaluate(op, conv, operands)[0].values;
  for (int threads : {1, 2, 3}) {
    KernelCase kernel(op, conv);
    kernel.input(a, left).input(b, right).output(result).run(threads, 0, 2);
    QVERIFY(kernel.guards_intact);
    const double found = difference(kernel.result(), {expected.begin(), expected.end()});
    QVERIFY2(found < 1e-5, qPrintable(QString("%1 on %2 threads: %3").arg(op).arg(threads).arg(found)));
  }
}

}  // namespace

class ConvolutionTest : public QObject {
  Q_OBJECT

 private slots:
  // Sizes that take several blocks of patches and a rest; the workspace is just what is declared.
  void blocks_of_patches_add_up_to_the_whole_on_any_number_of_threads_data() {
    QTest::addColumn<int>("stride");
    QTest::addColumn<bool>("same");
    for (int stride : {1, 2}) {
      for (bool same : {true, false}) {
        QTest::newRow(qPrintable(QString("stride %1, %2").arg(stride).arg(same ? "same" : "valid"))) << stride << same;
      }
    }
  }
  void blocks_of_patches_add_up_to_the_whole_on_any_number_of_threads() {
    QFETCH(int, stride);
    QFETCH(bool, same);
    const ConvAttributes conv = conv_of(stride, same ? ConvPadding::same : ConvPadding::valid);
    const Shape picture{pictures, height, width, channels}, window{3, 4, channels, features};
    const Shape result{pictures, conv.height.output, conv.width.output, features};
    const int64_t outputs = element_count(result) / features, patch = element_count(window) / features;
    if (stride == 1) QVERIFY(outputs > 2 * conv_block_rows(outputs, patch));
    agree("conv", conv, picture, window, result);
    agree("conv_grad_input", conv, result, window, picture);
    agree("conv_grad_kernel", conv, picture, result, window);
  }

  // XLA's rules: output = ceil(input / stride), zeros on both sides and the odd one behind; or none at all.
  void padding_is_that_of_xla() {
    for (int64_t input = 1; input <= 9; ++input) {
      for (int64_t window = 1; window <= 5; ++window) {
        for (int64_t stride = 1; stride <= 3; ++stride) {
          const ConvDimension same = conv_dimension(input, window, stride, ConvPadding::same);
          QCOMPARE(same.output, (input + stride - 1) / stride);
          const int64_t behind = (same.output - 1) * stride - same.before + window - input;
          QVERIFY(same.before >= 0 && (behind == same.before || behind == same.before + 1 || same.before == 0));
          if (window > input) continue;
          const ConvDimension valid = conv_dimension(input, window, stride, ConvPadding::valid);
          QCOMPARE(valid.before, int64_t{0});
          QVERIFY((valid.output - 1) * stride + window <= input && valid.output * stride + window > input);
        }
      }
    }
  }
};

REGISTER_TEST(ConvolutionTest)

}  // namespace convolution_test

#include "convolution_test.moc"
