#include <QtTest>

#include "tests/base/errors_of.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_registry_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

class KernelRegistryTest : public QObject {
  Q_OBJECT

 private slots:
  void every_op_has_a_kernel();
  void types_without_a_kernel_are_named_with_those_that_have_one();
  void an_array_read_as_another_type_is_named();
};

void KernelRegistryTest::every_op_has_a_kernel() {
  for (const OpDefinition* op : all_op_definitions()) {
    const Error error = error_of([&] { kernel_factory(op->name(), "no types"); });
    QCOMPARE(error.code, std::string("no_kernel_of_types"));
  }
  const Error error = error_of([] { kernel_factory("glue", "f32->f32"); });
  QCOMPARE(error.code, std::string("no_kernel"));
  QVERIFY(contains(error.hint, "gelu"));
}

void KernelRegistryTest::types_without_a_kernel_are_named_with_those_that_have_one() {
  KernelCase test("gelu");
  test.bf16_input({3}, {1, 2, 3}).output({3});
  const Error error = error_of([&] { test.run(); });
  QCOMPARE(error.code, std::string("no_kernel_of_types"));
  QVERIFY(contains(error.message, "gelu") && contains(error.message, "bf16->f32"));
  QVERIFY(contains(error.hint, "f32->f32") && contains(error.hint, "bf16->bf16"));
}

void KernelRegistryTest::an_array_read_as_another_type_is_named() {
  TensorView view{nullptr, DType::bf16, {2}, {2}, {0}, "operand 1 of add"};
  const Error error = error_of([&] { view.f32(); });
  QCOMPARE(error.code, std::string("dtype"));
  QVERIFY(contains(error.message, "operand 1 of add is bf16, not f32"));
  QVERIFY_EXCEPTION_THROWN(view.i32(), Failure);
  QVERIFY(view.bf16() == nullptr);
}

REGISTER_TEST(KernelRegistryTest)

}  // namespace kernel_registry_test

#include "kernel_registry_test.moc"
