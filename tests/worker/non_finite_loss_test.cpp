#include "engine/worker/non_finite_loss.h"
#include "engine/machine/host_machine.h"

#include <fmt/format.h>

#include <QTest>
#include <cmath>
#include <cstring>

#include "engine/base/path.h"
#include "engine/comm/rank_world.h"
#include "engine/runtime/finite_check.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace non_finite_loss_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::vector<std::byte> bytes_of(auto... numbers) {
  std::vector<std::byte> bytes;
  (bytes.insert(bytes.end(), reinterpret_cast<const std::byte*>(&numbers),
                reinterpret_cast<const std::byte*>(&numbers) + sizeof numbers),
   ...);
  return bytes;
}

}  // namespace

class NonFiniteLossTest : public QObject {
  Q_OBJECT

 private slots:
  void infinity_and_nan_of_either_float_are_found_wherever_they_are() {
    const float inf = INFINITY, nan = NAN, large = 3e38f;
    QVERIFY(is_finite(bytes_of(1.0f, large, -large, 0.0f), DType::f32));
    for (float bad : {inf, -inf, nan, -nan}) {
      QVERIFY(!is_finite(bytes_of(bad, 1.0f), DType::f32));
      QVERIFY(!is_finite(bytes_of(1.0f, 2.0f, bad), DType::f32));
    }
    QVERIFY(is_finite(bytes_of(uint16_t{0x7f7f}, uint16_t{0x3f80}), DType::bf16));
    QVERIFY(!is_finite(bytes_of(uint16_t{0x3f80}, uint16_t{0x7f80}), DType::bf16));
    QVERIFY(!is_finite(bytes_of(uint16_t{0xffc0}), DType::bf16));
    QVERIFY(is_finite(bytes_of(int32_t{0x7f800000}, int32_t{-1}), DType::i32));
  }

  void a_non_finite_loss_ends_the_training_and_the_first_op_is_named_on_every_mesh() {
    for (const std::vector<int64_t>& mesh : {std::vector<int64_t>{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
      const Plan plan = compile({system_run("mintext_mlp", {"optimizer.learning_rate=1e6"}, mesh), reference_host()});
      std::vector<Error> errors;
      int64_t steps = 0;
      try {
        train_in_threads(plan, 50, {}, [&](const StepMessage&) { ++steps; });
      } catch (const Failure& failure) {
        errors = failure.errors();
      }
      QCOMPARE(steps, 2);
      QCOMPARE(errors.size(), size_t{1});
      QCOMPARE(errors[0].code, std::string("not_finite"));
      const std::string begin = "loss is inf in training step 2: the first result that is not finite is that of ";
      QVERIFY2(errors[0].message.starts_with(begin), errors[0].message.c_str());
      QVERIFY2(to_string(errors[0].place).starts_with("step "), to_string(errors[0].place).c_str());
    }
  }

  void a_stored_array_that_is_no_longer_finite_is_named_before_any_op() {
    const Plan plan = compile({system_run("mintext_mlp", {}, {1, 1}), reference_host()});
    const RankWorld world = make_self_world(rank_memory_bytes(plan));
    Executor executor(plan, 0, world.arena.data(), *world.communicator);
    for (const ParameterPlan& parameter : plan.parameters) {
      executor.run(Purpose::initialise, {});
      const float infinity = INFINITY;
      std::memcpy(executor.value(parameter.value).data(), &infinity, sizeof infinity);
      const Failure failure =
          explain_non_finite_loss(plan, executor, *world.communicator, {3, true}, {}, "loss is nan");
      const std::string said = fmt::format(
          "loss is nan in training step 3: '{}' is not finite since the update of step 2", join_path(parameter.path));
      QCOMPARE(failure.errors()[0].message, said);
    }
  }
};

REGISTER_CORE_TEST(NonFiniteLossTest)

}  // namespace non_finite_loss_test

#include "non_finite_loss_test.moc"
