#include <QtTest>

#include "engine/ops/constant.h"
#include "engine/ops/embedding.h"
#include "tests/base/errors_of.h"
#include "tests/laws/agreement.h"
#include "tests/ops/op_cases.h"
#include "tests/test_program.h"

namespace reference_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// The case with every f32 operand in bf16 instead; nothing where the op does not take that.
std::vector<OpCase> in_bf16(OpCase c) {
  for (TensorType& type : c.operands) {
    if (type.dtype == DType::f32) type.dtype = DType::bf16;
  }
  try {
    c.results();
  } catch (const Failure&) {
    return {};
  }
  return {c};
}

std::vector<OpCase> all_cases() {
  std::vector<OpCase> all = small_op_cases();
  for (const OpCase& c : op_cases()) all.push_back(c);
  const size_t in_f32 = all.size();
  for (size_t i = 0; i < in_f32; ++i) {
    if (all[i].operands.empty()) continue;
    for (const OpCase& c : in_bf16(all[i])) all.push_back(c);
  }
  all.push_back({"constant", {}, ConstantAttributes{0.3, half({4, 3})}, {}});
  return all;
}

std::string operand_types(const OpCase& c) {
  std::string text;
  for (const TensorType& type : c.operands) text += " " + std::string(name(type.dtype)) + to_string(type.shape);
  return text;
}

std::string refusal(const OpCase& c, const std::vector<reference::Array>& operands) {
  return error_of([&] { reference::evaluate(c.op, c.attributes, operands); }).code;
}

}  // namespace

class ReferenceTest : public QObject {
  Q_OBJECT

 private slots:
  void every_op_has_a_reference() {
    for (const OpDefinition* definition : all_op_definitions()) {
      QVERIFY2(reference::has_reference(definition->name()), std::string(definition->name()).c_str());
    }
    QCOMPARE(refusal({"glue", {}, {}, {}}, {}), std::string("no_reference"));
  }

  void every_kernel_agrees_with_the_reference_in_double_precision_data() {
    QTest::addColumn<int>("index");
    int index = 0;
    for (const OpCase& c : all_cases()) {
      QTest::newRow((std::to_string(index) + " " + c.op + operand_types(c)).c_str()) << index;
      ++index;
    }
  }
  void every_kernel_agrees_with_the_reference_in_double_precision() {
    QFETCH(int, index);
    static const std::vector<OpCase> all = all_cases();
    const OpCase& c = all[static_cast<size_t>(index)];
    for (int64_t step : {0, 3}) agree(c, random_operands(c), step);
  }

  void a_label_outside_the_vocabulary_has_no_logit_and_no_gradient_of_it() {
    const TensorType logits = array({2, 5}), row = array({2});
    for (const OpCase& c : {OpCase{"cross_entropy_terms", {logits, tokens({2}), row}, {}, {}},
                            OpCase{"cross_entropy_terms_grad", {logits, tokens({2}), row, row, row}, {}, {}}}) {
      std::vector<TestArray> operands = random_operands(c);
      for (int32_t outside : {-1, 5}) {
        operands[1].i32()[0] = outside;
        operands[1].i32()[1] = 2;
        agree(c, operands, 0);
      }
    }
  }

  void a_token_outside_the_table_has_no_row() {
    for (const OpCase& c :
         {OpCase{"embedding", {tokens({2, 2}), array({5, 3})}, {}, {}},
          OpCase{"embedding_grad", {tokens({2, 2}), array({2, 2, 3})}, EmbeddingGradAttributes{5}, {}}}) {
      std::vector<TestArray> operands = random_operands(c);
      for (int i : {0, 1, 2, 3}) operands[0].i32()[i] = std::vector<int32_t>{-1, 4, 5, 4}[static_cast<size_t>(i)];
      agree(c, operands, 0);
    }
  }

 private:
  // f32 to 2e-6 of a result's largest value.
  void agree(const OpCase& c, std::vector<TestArray> operands, int64_t step) {
    std::vector<reference::Array> exact;
    std::vector<TensorView> inputs, outputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      exact.push_back(in_doubles(operands[i], c.operands[i]));
      inputs.push_back(whole_view(operands[i], c.operands[i]));
    }
    const std::vector<TensorType> types = c.results();
    std::vector<TestArray> results;
    for (const TensorType& type : types) results.emplace_back(type.bytes());
    for (size_t i = 0; i < types.size(); ++i) outputs.push_back(whole_view(results[i], types[i]));
    run_kernel(c.definition(), c.attributes, inputs, outputs, step);
    const std::vector<reference::Array> expected = reference::evaluate(c.op, c.attributes, exact, step);
    for (size_t i = 0; i < types.size(); ++i) {
      const double found = disagreement(results[i], expected[i], 2e-6, scale_of(expected[i]));
      QVERIFY2(found <= 1, qPrintable(QString("result %1 at step %2: %3").arg(i).arg(step).arg(found)));
    }
  }
};

REGISTER_TEST(ReferenceTest)

}  // namespace reference_test

#include "reference_test.moc"
