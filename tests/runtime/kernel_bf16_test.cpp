#include <QtTest>

#include "engine/ops/cast.h"
#include "engine/ops/dropout.h"
#include "engine/ops/embedding.h"
#include "engine/ops/equation.h"
#include "engine/ops/scale.h"
#include "engine/runtime/kernels/storage.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_bf16_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

std::vector<float> rounded(std::vector<float> values) {
  for (float& value : values) value = to_float(to_bfloat16(value));
  return values;
}

struct Operand {
  Shape shape;
  std::vector<float> values;
};

// One op on f32 operands and on the same, rounded, in bf16.
struct Comparison {
  std::string op;
  Attributes attributes;
  std::vector<Operand> operands;
  Shape result;
  std::vector<int32_t> tokens = {};  // a first operand
  DType dtype = DType::bf16;         // of the result of the bf16 case

  // In f32 of the rounded operands; then rounded, where the other's result is bf16.
  std::vector<float> expected(int threads) const {
    KernelCase test = start();
    for (const Operand& operand : operands) test.input(operand.shape, rounded(operand.values));
    test.output(result).run(threads, 3);
    return dtype == DType::bf16 ? rounded(test.result()) : test.result();
  }
  std::vector<float> found(int threads) const {
    KernelCase test = start();
    for (const Operand& operand : operands) test.bf16_input(operand.shape, operand.values);
    test.output(result, dtype).run(threads, 3);
    return test.result();
  }

 private:
  KernelCase start() const {
    KernelCase test(op, attributes);
    if (!tokens.empty()) test.input({static_cast<int64_t>(tokens.size())}, tokens);
    return test;
  }
};

}  // namespace

class KernelBf16Test : public QObject {
  Q_OBJECT

 private slots:
  void kernels_of_bf16_round_the_f32_result_of_the_rounded_operands_once();
  void einsum_of_bf16_is_the_einsum_of_the_rounded_operands();
  void casting_rounds_to_the_nearest_and_back_is_exact();
  void casting_to_its_own_type_copies();
};

void KernelBf16Test::kernels_of_bf16_round_the_f32_result_of_the_rounded_operands_once() {
  Random random(1);
  auto normals = [&](Shape shape) { return Operand{shape, random.normals(element_count(shape), 2)}; };
  const DropoutAttributes dropout{0.3, {key_from_seed(7), 1, 0, 12345}};
  const Shape x{3, 37, 50};
  const std::vector<int32_t> tokens = random.integers(111, 0, 20);
  const std::vector<Comparison> comparisons{
      {"gelu", {}, {normals(x)}, x},
      {"gelu_grad", {}, {normals(x), normals(x)}, x},
      {"add", EquationAttributes{"bse,bse->bse"}, {normals(x), normals(x)}, x},
      {"add", EquationAttributes{"bse,e->bse"}, {normals(x), normals({50})}, x},
      {"add", EquationAttributes{"bse,bs->bse"}, {normals(x), normals({3, 37})}, x},
      {"dropout", dropout, {normals(x)}, x},
      {"dropout", DropoutAttributes{}, {normals(x)}, x},
      {"reduce_sum", EquationAttributes{"bse->e"}, {normals(x)}, {50}},
      {"reduce_sum", EquationAttributes{"bse->bs"}, {normals(x)}, {3, 37}},
      {"reduce_sum", EquationAttributes{"bse->eb"}, {normals(x)}, {50, 3}},
      {"reduce_sum", EquationAttributes{"bse->e"}, {normals(x)}, {50}, {}, DType::f32},
      {"embedding", {}, {normals({20, 50})}, {111, 50}, tokens},
      {"embedding_grad", EmbeddingGradAttributes{20}, {normals({111, 50})}, {20, 50}, tokens, DType::f32},
      {"scale", ScaleAttributes{0.3}, {normals(x)}, x},
  };
  for (const Comparison& comparison : comparisons) {
    for (int threads : {1, 2}) {
      QVERIFY2(comparison.found(threads) == comparison.expected(threads), comparison.op.c_str());
    }
  }
}

void KernelBf16Test::einsum_of_bf16_is_the_einsum_of_the_rounded_operands() {
  Random random(2);
  for (int64_t batch : {4, 300}) {
    const Operand x{{batch, 60}, random.normals(batch * 60)}, kernel{{60, 5, 8}, random.normals(60 * 40)};
    Comparison comparison{"einsum", EquationAttributes{"be,ehd->bhd"}, {x, kernel}, {batch, 5, 8}};
    for (int threads : {1, 2}) {
      comparison.dtype = DType::f32;
      const std::vector<float> f32 = comparison.expected(threads);
      QVERIFY(difference(comparison.found(threads), doubles(f32)) < 2e-6);
      comparison.dtype = DType::bf16;
      QVERIFY(difference(comparison.found(threads), doubles(f32)) < 1.0 / 256);
    }
  }
}

void KernelBf16Test::casting_rounds_to_the_nearest_and_back_is_exact() {
  Random random(3);
  for (int64_t count : {1, 31, 5000}) {
    const std::vector<float> x = random.normals(count);
    for (int threads : {1, 2}) {
      KernelCase down("cast", CastAttributes{DType::bf16}), up("cast", CastAttributes{DType::f32});
      down.input({count}, x).output({count}, DType::bf16).run(threads);
      up.bf16_input({count}, x).output({count}).run(threads);
      QCOMPARE(down.result(), rounded(x));
      QCOMPARE(up.result(), rounded(x));
    }
  }
}

void KernelBf16Test::casting_to_its_own_type_copies() {
  Random random(4);
  const std::vector<float> x = random.normals(5000);
  KernelCase single("cast", CastAttributes{DType::f32}), half("cast", CastAttributes{DType::bf16});
  single.input({5000}, x).output({5000}).run(2);
  half.bf16_input({5000}, x).output({5000}, DType::bf16).run(2);
  QCOMPARE(single.result(), x);
  QCOMPARE(half.result(), rounded(x));
}

REGISTER_TEST(KernelBf16Test)

}  // namespace kernel_bf16_test

#include "kernel_bf16_test.moc"
